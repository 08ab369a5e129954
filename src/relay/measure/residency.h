// The location of a step's arrays when it begins: L2, L3 or memory.
//
//   conv    reads x, writes y      13 ms
//   pool    reads y, writes z      y was written 6.5 ms ago on average, z was last used in the run before
//
// A cache holds the most recently used data. So an array is in the smallest level into which it fits together with
// everything that was used since its own last use. L3 is shared with other cores and, in a virtual machine, with other
// machines: the longer an array was unused, the less of it is left (measured: 8 MB were copied at 29 GB/s after 13 ms,
// and at 92 GB/s immediately). Arrays that were never used before are in memory.
#pragma once

#include <span>
#include <vector>

#include "relay/runtime/report.h"

namespace relay::measure {

enum class Level : uint8_t { L2, L3, Memory };

struct Residency {
  Level level = Level::Memory;
  int64_t bytes = 0;
  double age_us = 0;  // time since its last use
};

struct CacheSizes {
  int64_t l2_bytes = 0, l3_bytes = 0;
};

// For each step of `last`, its arrays without duplicates. `before`: the previous run of the same program.
std::vector<std::vector<Residency>> residencies(std::span<const runtime::StepTime> before,
                                                std::span<const runtime::StepTime> last, const CacheSizes& caches);

}  // namespace relay::measure
