// Kernels that are compiled quickly: their loops stay loops.
#pragma once

#include "relay/loop/loop.h"

namespace relay::codegen {

// The kernel with serial loops instead of unrolled ones, and with register arrays in memory: a fraction of the code,
// for kernels as lowering made them. Each element is computed by the same operations in the same order.
loop::Kernel rolled(const loop::Kernel& kernel);

}  // namespace relay::codegen
