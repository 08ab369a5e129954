// References: the only objects that change, so the only ones that can form cycles.
//
// Counting frees everything else. A cycle is found by trial deletion (Bacon and Rajan, 2001): of all objects that a
// heap's references reach, count the links among themselves; what has no other link, and is not reached from something
// that has one, is garbage. The references in it are emptied, and counting does the rest.
//
// A run makes references in a heap of its own and looks for garbage when their number has doubled since it last did,
// and at its end. What is left then, the results reach; it goes to the heap of resting references, which does the same
// as it grows. A run takes the references that its inputs reach from there, and gives them back. So a reference is
// changed by one run at a time: a second run is refused.
#pragma once

#include <mutex>

#include "relay/runtime/object.h"

namespace relay::runtime {

class ReferenceHeap {
 public:
  ReferenceHeap() = default;
  ~ReferenceHeap() { rest(); }
  ReferenceHeap(const ReferenceHeap&) = delete;
  ReferenceHeap& operator=(const ReferenceHeap&) = delete;
  // Of references that no run uses.
  static ReferenceHeap& resting();

  // Takes `content` over; null when there is no memory.
  Object* make(Object* content);
  // Takes all references below the values from the resting heap. False, and none is taken, when another run uses one.
  bool adopt(std::span<Object* const> values);
  void collect();
  // Gives all to the resting heap.
  void rest();
  size_t live() const;

 private:
  friend void forget(ReferenceObject* reference);
  void link(ReferenceObject* reference);    // under the lock
  void unlink(ReferenceObject* reference);  // under the lock

  ReferenceObject* first_ = nullptr;  // all under the lock
  size_t live_ = 0;
  size_t collect_at_ = 256;
};

// Content with a count of its own.
Object* read_reference(ReferenceObject* reference);
// Takes `content` over.
void write_reference(ReferenceObject* reference, Object* content);
// A reference that is being freed leaves its heap; its content is the caller's.
void forget(ReferenceObject* reference);

}  // namespace relay::runtime
