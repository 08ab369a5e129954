// Random small kernels, for tests of passes and of code generation: the same seed gives the same kernel.
#pragma once

#include "relay/loop/loop.h"

namespace relay::loop {

// Over x: float32[n, 24] read, index: int32[24] read (0 .. 23), y: float32[n, 24], z: int32[n, 24], one task a row. All
// accesses are inside for every n, the lanes of vectorised loops are independent, and on inputs that are small
// multiples of one half every float operation is exact, whatever the order and contraction.
Kernel random_kernel(uint64_t seed);

}  // namespace relay::loop
