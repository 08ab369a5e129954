// Where the arrays of a step lie when it begins: in L2, L3 or memory, and how fast they are read from there.
//
//   conv    reads x, writes y      13 ms
//   pool    reads y, writes z      y was written 6.5 ms ago on average, z was last used in the run before
//
// A cache holds what was used last. So an array is where it fits together with everything that was used since its own
// last use. L3 is shared with other cores and, of a virtual machine, with other machines: the longer nobody used an
// array, the less of it is left (measured: after 13 ms 8 MB were copied at 29 GB/s, and at 92 at once). What nobody has
// used before is in memory.
#pragma once

#include <span>
#include <vector>

#include "relay/runtime/report.h"

namespace relay::measure {

enum class Level : uint8_t { L2, L3, Memory };

struct Residency {
  Level level = Level::Memory;
  int64_t bytes = 0;
  double age_us = 0;  // since it was used last
};

struct CacheSizes {
  int64_t l2_bytes = 0, l3_bytes = 0;
};

// For each step of `last`, its arrays, each once. `before`: the run before that, of the same program.
std::vector<std::vector<Residency>> residencies(std::span<const runtime::StepTime> before,
                                                std::span<const runtime::StepTime> last, const CacheSizes& caches);

}  // namespace relay::measure
