#include "relay/measure/residency.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

namespace relay::measure {

using Memory = runtime::StepTime::Memory;

namespace {

// The last step that used each byte, and the number of bytes last used by each step.
class LastUse {
 public:
  explicit LastUse(size_t steps) : sums_(steps + 1) {}

  void use(const Memory& m, size_t step) {
    const uintptr_t end = m.begin + static_cast<uintptr_t>(m.bytes);
    split(m.begin), split(end);
    auto it = pieces_.lower_bound(m.begin);
    while (it != pieces_.end() && it->first < end) {
      add(it->second.step, -size_of(it));
      it = pieces_.erase(it);
    }
    if (m.bytes == 0) return;
    pieces_[m.begin] = {end, step};
    add(step, m.bytes);
  }

  // The last step after which at least half of the range was used; unset if never. Earlier use of the range by other
  // arrays counts.
  std::optional<size_t> of(const Memory& m) {
    split(m.begin), split(m.begin + static_cast<uintptr_t>(m.bytes));
    std::map<size_t, int64_t, std::greater<>> bytes;  // by step
    for (auto it = pieces_.lower_bound(m.begin); it != pieces_.end() && it->second.end <= m.begin + m.bytes; ++it)
      bytes[it->second.step] += size_of(it);
    int64_t used = 0;
    for (const auto& [step, count] : bytes)
      if (2 * (used += count) >= m.bytes) return step;
    return std::nullopt;
  }

  // Bytes used by this step or a later one, each byte once.
  int64_t bytes_since(size_t step) const {
    int64_t sum = 0;
    for (size_t i = sums_.size() - 1 - step; i > 0; i -= i & -i) sum += sums_[i];
    return sum;
  }

 private:
  struct Piece {
    uintptr_t end = 0;
    size_t step = 0;
  };
  using Pieces = std::map<uintptr_t, Piece>;

  static int64_t size_of(Pieces::iterator it) { return static_cast<int64_t>(it->second.end - it->first); }

  // Splits the piece across `at`.
  void split(uintptr_t at) {
    auto it = pieces_.lower_bound(at);
    if (it == pieces_.begin()) return;
    --it;
    if (it->second.end <= at) return;
    pieces_[at] = it->second;
    it->second.end = at;
  }

  // sums_ is a Fenwick tree over the steps, the last one first.
  void add(size_t step, int64_t bytes) {
    for (size_t i = sums_.size() - 1 - step; i < sums_.size(); i += i & -i) sums_[i] += bytes;
  }

  Pieces pieces_;
  std::vector<int64_t> sums_;
};

}  // namespace

std::vector<std::vector<Residency>> residencies(std::span<const runtime::StepTime> before,
                                                std::span<const runtime::StepTime> last, const CacheSizes& caches) {
  std::vector<runtime::StepTime> all(before.begin(), before.end());
  all.insert(all.end(), last.begin(), last.end());
  LastUse last_use(all.size());
  std::vector<std::vector<Residency>> out;
  for (size_t i = 0; i < all.size(); ++i) {
    const runtime::StepTime& step = all[i];
    std::map<uintptr_t, std::pair<int64_t, std::optional<size_t>>> own;  // its arrays: bytes, last use
    for (const Memory& m : step.arrays)
      if (!own.count(m.begin)) own[m.begin] = {m.bytes, last_use.of(m)};
    for (const Memory& m : step.arrays) last_use.use(m, i);
    if (i < before.size()) continue;
    std::vector<Residency>& arrays = out.emplace_back();
    for (const Memory& m : step.arrays) {
      auto node = own.extract(m.begin);
      if (node.empty()) continue;
      Residency& found = arrays.emplace_back(Level::Memory, node.mapped().first, 1e12);
      if (!node.mapped().second) continue;
      const runtime::StepTime& user = all[*node.mapped().second];
      const int64_t bytes = last_use.bytes_since(*node.mapped().second);
      found.level = bytes <= caches.l2_bytes ? Level::L2 : bytes <= caches.l3_bytes ? Level::L3 : Level::Memory;
      found.age_us = std::max(0.0, step.begin_us - user.begin_us - user.us / 2);  // it was in use all that time
    }
  }
  return out;
}

}  // namespace relay::measure
