// Devices with an OpenCL driver. The processors are parts of their names: `opencl` is the first device of this machine,
// `opencl:pocl` the first of that platform, and `opencl:generic` stands for a GPU with float64 that need not be here.
#pragma once

#include "relay/codegen/codegen.h"

namespace relay::target {

codegen::TargetDef opencl();

// True if the device is this machine's processor, whose figures then describe it. Not if it is to run blocks of threads
// (+blocks), as a GPU does.
bool is_cpu_device(const TargetDesc& target);

}  // namespace relay::target
