// Random small kernels, for tests of passes and of code generation: the same seed produces the same kernel.
#pragma once

#include "relay/loop/loop.h"

namespace relay::loop {

// A kernel over x: float32[n, 24] read, index: int32[24] read (0 .. 23), y: float32[n, 24], z: int32[n, 24], one task
// per row. All accesses are in range for every n, and the lanes of vectorised loops are independent. On inputs that are
// small multiples of one half every float operation is exact, whatever the order and contraction.
Kernel random_kernel(uint64_t seed);

}  // namespace relay::loop
