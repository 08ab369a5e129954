// Asynchronous copies to shared memory: a thread starts a copy, and goes on while it is done.
//
//   kernel doubled(x: float32[n, 64] read, y: float32[n, 64]), shape (n), task t < 1 {
//     for i in 0..n block {
//       alloc row: float32[64] in shared
//       for j in 0..16 thread {
//         async 4 row[j * 4] = x[i, j * 4]
//         commit
//         wait 0
//         barrier
//         for c in 0..4 { y[i, c * 16 + j] = row[c * 16 + j] * 2f }
//       }
//     }
//   }
//
// `async 4` copies four neighbours in the last dimension: row[j * 4], .., row[j * 4 + 3]. All copies that a thread has
// started since its last `commit` are a group. At `wait 1` it goes on when all its groups are done but the last one.
// Other threads may read the elements behind a barrier that follows the wait, as after a store.
//
// A copy has 4, 8 or 16 bytes, and begins at a multiple of them in both arrays. Its source is an array that the kernel
// only reads. From its start to the wait nothing is known of its elements: interpret() reports a thread that touches
// one, also the thread that copies it, and a block that ends before all copies are waited for.
#pragma once

#include <unordered_map>

#include "relay/loop/loop.h"

namespace relay::loop {

inline constexpr int64_t longest_copy = 16;  // bytes

// The sizes of the copies in a kernel, in bytes: each once, ascending.
std::vector<int64_t> async_copy_bytes(const Kernel& kernel);

// The same copy as ordinary stores, for machines that have no others.
Stmt synchronous(const Stmt& copy);

// The copies of a block that are under way, for the interpreter.
class CopiesUnderWay {
 public:
  struct Element {
    const Buffer* buffer = nullptr;
    int64_t number = 0, elements = 0;  // of the element in its array, and of all
    char* to = nullptr;
    const char* from = nullptr;
    const StmtNode* statement = nullptr;
    int64_t thread = 0;
  };

  void start(const Element& element);
  void commit(int64_t thread);
  // The elements that are now copied: of all groups of the thread but the last `groups`.
  std::vector<Element> wait(int64_t thread, int64_t groups);
  // The copy of an element that is under way; null if there is none.
  const Element* find(const Buffer& buffer, int64_t number) const;
  // Any copy that is under way; null if there is none.
  const Element* any() const;
  void clear() { *this = {}; }

 private:
  using Group = std::vector<Element>;
  struct OfThread {
    std::vector<Group> committed;
    Group open;
  };
  struct Key {
    const Buffer* buffer;
    int64_t number;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& k) const {
      return std::hash<const void*>()(k.buffer) * 31 + static_cast<size_t>(k.number);
    }
  };
  std::unordered_map<int64_t, OfThread> threads_;
  std::unordered_map<Key, Element, Hash> elements_;
};

}  // namespace relay::loop
