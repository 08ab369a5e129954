// The kernel that writes an array's halo. Arrays share the arena, so the halo is written on every run.
#pragma once

#include "relay/loop/loop.h"
#include "relay/lower/schedule/layout.h"
#include "relay/lower/schedule/mutation.h"
#include "relay/machine/target_desc.h"

namespace relay::lower {

loop::Kernel halo_kernel(const Exprs& logical_shape, DType dtype, const Layout& layout, const TargetDesc& target,
                         Mutation injected_bug = Mutation::None);

}  // namespace relay::lower
