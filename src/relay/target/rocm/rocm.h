// GPUs of AMD. Kernels are HIP C++ for other compilers (codegen/c/c_source.h: hip_source). Relay itself runs programs
// on these GPUs through their OpenCL drivers.
#pragma once

#include "relay/codegen/codegen.h"

namespace relay::target {

codegen::TargetDef rocm();

}  // namespace relay::target
