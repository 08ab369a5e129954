// The kernel of one root stage.
#pragma once

#include "relay/loop/kernel_text.h"
#include "relay/te/te.h"

namespace relay::lower {

struct BuiltKernel {
  loop::Kernel kernel;
  std::string text{};             // of the kernel, if all kernels had one name: equal kernels have equal texts
  te::Tensor root{};              // the stage it computes
  te::Tensors params{};           // in the order of kernel.params; root is the last
  te::Tensors secondary_roots{};  // of params: stages that are stored in its loops, each in its own array
};

}  // namespace relay::lower
