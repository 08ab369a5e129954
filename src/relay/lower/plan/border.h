// The kernel that writes an array's border. Arrays share the arena, so the border is written on every run.
#pragma once

#include "relay/base/target_desc.h"
#include "relay/loop/loop.h"
#include "relay/lower/schedule/layout.h"

namespace relay::lower {

loop::Kernel border_kernel(const Exprs& logical_shape, DType dtype, const Layout& layout, const TargetDesc& target);

}  // namespace relay::lower
