#include "relay/driver/residency.h"

#include <algorithm>

namespace relay::driver {

using Memory = runtime::StepTime::Memory;

static uintptr_t end_of(const Memory& m) { return m.begin + static_cast<uintptr_t>(m.bytes); }

static int64_t overlap(const Memory& a, const Memory& b) {
  const uintptr_t begin = std::max(a.begin, b.begin), end = std::min(end_of(a), end_of(b));
  return begin < end ? static_cast<int64_t>(end - begin) : 0;
}

// The bytes of all of these, those that several have once.
static int64_t union_bytes(std::vector<Memory> all) {
  std::sort(all.begin(), all.end(), [](const Memory& a, const Memory& b) { return a.begin < b.begin; });
  int64_t bytes = 0;
  uintptr_t reached = 0;
  for (const Memory& m : all) {
    if (end_of(m) <= reached) continue;
    bytes += static_cast<int64_t>(end_of(m) - std::max(m.begin, reached));
    reached = end_of(m);
  }
  return bytes;
}

static Residency find(const Memory& array, std::span<const runtime::StepTime> earlier, const runtime::StepTime& step,
                      const CacheSizes& caches) {
  Residency found{Level::Memory, array.bytes, 1e12};
  std::vector<Memory> since = step.arrays;
  for (size_t i = earlier.size(); i-- > 0;) {
    const runtime::StepTime& user = earlier[i];
    // The range was other arrays' before: what used half of it counts.
    const bool used = std::any_of(user.arrays.begin(), user.arrays.end(),
                                  [&](const Memory& m) { return 2 * overlap(m, array) >= array.bytes; });
    since.insert(since.end(), user.arrays.begin(), user.arrays.end());
    if (!used) continue;
    const int64_t bytes = union_bytes(since);
    found.level = bytes <= caches.l2_bytes ? Level::L2 : bytes <= caches.l3_bytes ? Level::L3 : Level::Memory;
    found.age_us = std::max(0.0, step.begin_us - user.begin_us - user.us / 2);  // it was used all that time
    break;
  }
  return found;
}

std::vector<std::vector<Residency>> residencies(std::span<const runtime::StepTime> before,
                                                std::span<const runtime::StepTime> last, const CacheSizes& caches) {
  std::vector<runtime::StepTime> all(before.begin(), before.end());
  all.insert(all.end(), last.begin(), last.end());
  std::vector<std::vector<Residency>> out;
  for (size_t i = before.size(); i < all.size(); ++i) {
    std::vector<Residency>& arrays = out.emplace_back();
    const std::vector<Memory>& own = all[i].arrays;
    for (size_t k = 0; k < own.size(); ++k)
      if (std::none_of(own.begin(), own.begin() + static_cast<int64_t>(k),
                       [&](const Memory& m) { return m.begin == own[k].begin; }))
        arrays.push_back(find(own[k], std::span(all).first(i), all[i], caches));
  }
  return out;
}

}  // namespace relay::driver
