// The kernels of one step of a recurrence as one kernel of all steps:
//
//   S[0] = initial;  for t in 0..steps { kernel 1; kernel 2; .. }
//
// A state's array S has a row for each step; a step reads row t and writes row t + 1. The tasks of each kernel become a
// loop.
#pragma once

#include "relay/lower/nest/nest.h"

namespace relay::lower {

// An array that the kernels of a step take.
struct StepArray {
  loop::BufferRef buffer;  // of the whole kernel; of a state, with all of its rows
  Expr row;                // of a state: which it is; null: no state
};

struct StepKernel {
  loop::Kernel kernel;
  std::vector<StepArray> params;  // in the order of kernel.params
};

struct InitialState {
  loop::BufferRef from, to;
  Exprs shape;    // of the state
  Layout layout;  // of `from`
};

// `params`: all buffers, each once.
loop::Kernel steps_kernel(const std::string& name, const Expr& step, const Expr& steps,
                          const std::vector<StepKernel>& kernels, const std::vector<InitialState>& initial,
                          std::vector<loop::BufferRef> params);

}  // namespace relay::lower
