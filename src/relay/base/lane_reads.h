// Limits that schedule rules and code generation share, for vectors whose lanes are at known places in memory.
#pragma once

#include <cstddef>

namespace relay {

// The most runs of adjacent elements, or the most single elements, from which such a vector is assembled. Each costs a
// load and an instruction that moves its elements into place. More of them cost as much as a gather.
inline constexpr size_t max_lane_runs = 8, max_lane_places = 6;

}  // namespace relay
