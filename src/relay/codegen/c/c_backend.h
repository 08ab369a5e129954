// Backends that write source: C99 for other compilers, OpenCL C for the driver of a device, HIP C++
// and Metal for the compilers of AMD and Apple, WGSL for browsers.
#pragma once

#include <memory>

#include "relay/codegen/backend.h"

namespace relay::codegen {

// Writes files; compile() is refused.
std::unique_ptr<Backend> c99_backend();

// `target`: of target/opencl. check() refuses kernels that the device cannot run, and names the extension or limit.
std::unique_ptr<Backend> opencl_backend(const TargetDesc& target);

// True if the kernels of a target are only ever such source.
bool is_text_target(const TargetDesc& target);
// The one for a target; C99 for those that are not text targets.
std::unique_ptr<Backend> text_backend(const TargetDesc& target);

}  // namespace relay::codegen
