// NodeTable: a hash table by node, for traversals: most have a handful of nodes, and there are very many traversals.
//
//   std::byte first[4096];
//   std::pmr::monotonic_buffer_resource memory(first, sizeof first);
//   NodeTable<Expr> done(&memory);
//   if (Expr* known = done.find(node)) ...
//   done.add(node, value);    which must be new
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <utility>
#include <vector>

namespace relay::scalar {

struct Node;

template <class Value>
class NodeTable {
 public:
  explicit NodeTable(std::pmr::memory_resource* memory) : more_(memory), entries_(memory) {}
  NodeTable(const NodeTable&) = delete;

  // The value of a node, or null. Valid until the next add().
  Value* find(const Node* node) {
    const uint32_t at = slots_[slot_of(node)];
    return at == 0 ? nullptr : &entries_[at - 1].second;
  }
  Value& add(const Node* node, Value value) {
    if (2 * (entries_.size() + 1) > count_) grow();
    entries_.emplace_back(node, std::move(value));
    slots_[slot_of(node)] = static_cast<uint32_t>(entries_.size());
    return entries_.back().second;
  }

 private:
  // The slot of the node, or the free one where it belongs.
  size_t slot_of(const Node* node) const {
    const size_t mask = count_ - 1;
    size_t slot = static_cast<size_t>((reinterpret_cast<uintptr_t>(node) >> 4) * 0x9E3779B97F4A7C15u >> 32) & mask;
    while (slots_[slot] != 0 && entries_[slots_[slot] - 1].first != node) slot = (slot + 1) & mask;
    return slot;
  }
  void grow() {
    count_ *= 4;
    more_.assign(count_, 0);
    slots_ = more_.data();
    for (size_t i = 0; i < entries_.size(); ++i) slots_[slot_of(entries_[i].first)] = static_cast<uint32_t>(i + 1);
  }

  static constexpr size_t first_count = 64;
  std::array<uint32_t, first_count> first_{};  // 1 + index of an entry; 0 if free
  std::pmr::vector<uint32_t> more_;
  uint32_t* slots_ = first_.data();
  size_t count_ = first_count;  // of slots; a power of two
  std::pmr::vector<std::pair<const Node*, Value>> entries_;
};

}  // namespace relay::scalar
