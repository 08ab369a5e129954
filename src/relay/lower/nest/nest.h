// The one mechanism that builds loops: (stages, schedule) -> kernels. It knows nothing of operators.
//
// Every root stage becomes one kernel. Its parallel loops become the task index. Stages placed At a loop are built
// inside it, over the region that the loops below need (interval analysis of the index maps); inlined stages are
// substituted into their uses. Illegal schedules are refused with the reason, never built wrongly.
#pragma once

#include "relay/base/target_desc.h"
#include "relay/loop/loop.h"
#include "relay/lower/schedule/schedule.h"

namespace relay::lower {

// Where a tensor of the group lives: placeholders and root stages.
struct Stored {
  te::Tensor tensor;
  Layout layout;
};

struct BuiltKernel {
  loop::Kernel kernel;
  te::Tensor root;     // the stage it computes
  te::Tensors params;  // in the order of kernel.params; root is the last
};

// `stages`: topological, placeholders included; names unique. `layouts`: one for each placeholder and root stage (by
// name).
Result<std::vector<BuiltKernel>> build_kernels(const te::Tensors& stages, const Schedule& schedule,
                                               const std::map<std::string, Layout>& layouts, const TargetDesc& target,
                                               const std::string& name);

// What a planted mistake in the mechanism would be: for the test of the fuzzer's power only. None in production.
enum class Mutation : uint8_t {
  None,
  LoseTailMask,
  RegionShort,
  RingShort,
  WrongKTail,
  UnwrittenBorder,
  Race,
  AliasBuffers,
  InsideShort
};
void plant(Mutation mutation);
Mutation planted();

}  // namespace relay::lower
