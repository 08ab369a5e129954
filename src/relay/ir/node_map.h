// NodeMap<V>: a map from node addresses to values, for traversals that remember every node of a program.
//
//   NodeMap<Expr> done;  done[e.get()] = rewritten;  if (const Expr* r = done.find(e.get())) ...
//
// Open addressing in one array: a million entries cost about as much as the nodes themselves. No removal; values are
// default-constructed; references stay valid until the next insertion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace relay::ir {

template <class V>
class NodeMap {
 public:
  size_t size() const { return size_; }

  V* find(const void* key) {
    if (slots_.empty()) return nullptr;
    Slot& slot = slots_[probe(key)];
    return slot.key ? &slot.value : nullptr;
  }
  const V* find(const void* key) const { return const_cast<NodeMap*>(this)->find(key); }
  bool contains(const void* key) const { return find(key) != nullptr; }

  V& operator[](const void* key) {
    if (size_ * 4 >= slots_.size() * 3) grow();
    Slot& slot = slots_[probe(key)];
    if (!slot.key) slot.key = key, ++size_;
    return slot.value;
  }
  // Returns true if the key is new.
  bool insert(const void* key, V value) {
    size_t before = size_;
    V& place = (*this)[key];
    if (size_ == before) return false;
    place = std::move(value);
    return true;
  }

 private:
  struct Slot {
    const void* key = nullptr;
    V value{};
  };
  size_t probe(const void* key) const {
    size_t mask = slots_.size() - 1;
    size_t i = (reinterpret_cast<uintptr_t>(key) >> 4) * 0x9E3779B97F4A7C15ull >> 20 & mask;
    while (slots_[i].key && slots_[i].key != key) i = (i + 1) & mask;
    return i;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : slots_.size() * 2);
    old.swap(slots_);
    for (Slot& slot : old)
      if (slot.key) slots_[probe(slot.key)] = std::move(slot);
  }
  std::vector<Slot> slots_;
  size_t size_ = 0;
};

// A set of nodes.
class NodeSet {
 public:
  bool insert(const void* key) { return map_.insert(key, true); }  // true if it is new
  bool contains(const void* key) const { return map_.contains(key); }
  size_t size() const { return map_.size(); }

 private:
  NodeMap<bool> map_;
};

}  // namespace relay::ir
