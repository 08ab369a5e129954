// An estimate of the work of a kernel.
#pragma once

#include "relay/loop/loop.h"

namespace relay::codegen {

struct Work {
  double operations = 0;    // on vectors or on numbers, of all tasks
  double instructions = 0;  // that remain after unrolling, each of which carries out some of the operations
};

// For a kernel as lowering made it. A size that is not constant counts as 1.
Work work(const loop::Kernel& kernel);

}  // namespace relay::codegen
