// The text of a kernel without its name: equal texts for equal kernels.
#pragma once

#include "relay/loop/loop.h"

namespace relay::loop {

inline std::string text_without_name(Kernel kernel) {
  kernel.name = "kernel";
  return str(kernel);
}

}  // namespace relay::loop
