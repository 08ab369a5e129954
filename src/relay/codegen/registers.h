// Register buffers: the division of register buffers into separate SSA values.
//
//   acc[0, ramp(0, 1, 16)], acc[0, ramp(16, 1, 16)], acc[1, ramp(0, 1, 16)], ... of acc: float32[14, 32]
//   -> 28 groups of 16 lanes, each one SSA value
//
// A group is a run of elements that is always accessed as a whole or by parts inside it (a horizontal sum reads halves
// and single lanes). Loads may also go across groups, t[ramp(0, 1, 16), 3]: the groups are rows of a tile, and a column
// of it is read. Precondition: loops are unrolled and vectorised, so that all indices are constant.
#pragma once

#include <unordered_map>

#include "relay/loop/loop.h"
#include "relay/machine/target_desc.h"

namespace relay::codegen {

struct RegisterGroup {
  int64_t offset;  // of its first element, row-major
  int lanes;
};

struct RegisterPlan {
  std::unordered_map<const loop::Buffer*, std::vector<RegisterGroup>> groups;  // sorted by offset
};

// The elements that an access covers, `stride` apart: 1 in a run, more across groups.
struct RegisterAccess {
  int64_t offset;
  int lanes;
  int64_t stride = 1;
};
// Unset if the indices are not constant.
std::optional<RegisterAccess> register_access(const loop::Buffer& buffer, const scalar::Exprs& indices);

// Refuses (illegal_schedule) indices that are not constant, stores across groups, runs that overlap in part, and more
// live vectors than the target has registers.
Result<RegisterPlan> plan_registers(const loop::Kernel& kernel, const TargetDesc& target);

}  // namespace relay::codegen
