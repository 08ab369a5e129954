// The result of building a program.
#pragma once

#include <memory>
#include <vector>

#include "relay/loop/loop.h"
#include "relay/runtime/program/program.h"

namespace relay::exec {

// A program and the loops of its kernels, by name. Only the kernels that work on constants needed have been compiled.
struct Built {
  std::shared_ptr<const runtime::Program> program;
  std::vector<loop::Kernel> kernels;
  // By segment: the step of the lowered function that each step is; -1 for a copy that move_to_device() adds. (Copies
  // of results come after these, and have no such step.)
  std::vector<std::vector<int>> lowered_steps;
  // Figures for reports.
  int64_t constant_steps = 0;  // steps run here
  int64_t constant_bytes = 0;  // stored in the program
  int64_t prepared_bytes = 0;  // of constants that are computed from those when the program is linked
  double constant_ms = 0;      // for compiling and running them
};

}  // namespace relay::exec
