// An estimate of the work of a kernel.
#pragma once

#include "relay/loop/loop.h"

namespace relay::codegen {

// The operations, on vectors or on numbers, of all tasks of a kernel as lowering made it. A size that is not constant
// counts as 1.
double operations(const loop::Kernel& kernel);

}  // namespace relay::codegen
