// Register buffers: which parts of them are values of their own.
//
//   acc[0, ramp(0, 1, 16)], acc[0, ramp(16, 1, 16)], acc[1, ramp(0, 1, 16)], ... of acc: float32[14, 32]
//   -> 28 groups of 16 lanes, each one SSA value
//
// A group is a run of elements that is always accessed as a whole or by parts that lie inside it (a horizontal sum
// reads halves and single lanes). Precondition: loops are unrolled and vectorised, so that all indices are constant.
#pragma once

#include <unordered_map>

#include "relay/base/target_desc.h"
#include "relay/loop/loop.h"

namespace relay::codegen {

struct RegisterGroup {
  int64_t offset;  // of its first element, row-major
  int lanes;
};

struct RegisterPlan {
  std::unordered_map<const loop::Buffer*, std::vector<RegisterGroup>> groups;  // sorted by offset
};

// The elements that an access covers: offset and lanes; nothing when the indices are not constant or not one contiguous
// run.
std::optional<RegisterGroup> register_access(const loop::Buffer& buffer, const scalar::Exprs& indices);

// Refuses (illegal_schedule) indices that are not constant, runs that overlap in part, and more live vectors than the
// target has registers.
Result<RegisterPlan> plan_registers(const loop::Kernel& kernel, const TargetDesc& target);

}  // namespace relay::codegen
