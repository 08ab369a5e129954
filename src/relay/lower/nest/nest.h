// The only mechanism that builds loops: (stages, schedule) -> kernels. It is independent of operators.
//
// Every root stage becomes one kernel. Its parallel loops become the task index. Stages placed At a loop are built
// inside it, over the region that the loops below need (interval analysis of the index maps); inlined stages are
// substituted into their uses. Illegal schedules are refused with the reason, never built wrongly.
#pragma once

#include "relay/lower/nest/built_kernel.h"
#include "relay/lower/schedule/mutation.h"
#include "relay/lower/schedule/schedule.h"
#include "relay/machine/target_desc.h"

namespace relay::lower {

// `stages`: topological, placeholders included; names unique. `layouts`: one for each placeholder and root stage (by
// name). `injected_bug`: a deliberate bug, for tests only.
Result<std::vector<BuiltKernel>> build_kernels(const te::Tensors& stages, const Schedule& schedule,
                                               const std::map<std::string, Layout>& layouts, const TargetDesc& target,
                                               const std::string& name, Mutation injected_bug = Mutation::None);

}  // namespace relay::lower
