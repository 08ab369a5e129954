// What schedule rules and code generation agree on about vectors whose lanes lie at known places in memory.
#pragma once

#include <cstddef>

namespace relay {

// Such a vector is read in so many runs of neighbours at most, each of which costs a load and an instruction that puts
// its elements into place; or at so many single places. More of them cost as much as a gather.
inline constexpr size_t max_lane_runs = 8, max_lane_places = 6;

}  // namespace relay
