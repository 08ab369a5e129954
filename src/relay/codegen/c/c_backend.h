// Backends that write source: C99 for other compilers, OpenCL C for the driver of a device.
#pragma once

#include <memory>

#include "relay/codegen/backend.h"

namespace relay::codegen {

// Writes files; compile() is refused.
std::unique_ptr<Backend> c99_backend();

// `target`: of target/opencl. check() refuses kernels that the device cannot run, and names the extension or limit.
std::unique_ptr<Backend> opencl_backend(const TargetDesc& target);

}  // namespace relay::codegen
