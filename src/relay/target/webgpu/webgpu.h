// WebGPU, through which pages use GPUs. Kernels are WGSL text in a package for browsers (js_package/package.h).
#pragma once

#include "relay/codegen/codegen.h"

namespace relay::target {

codegen::TargetDef webgpu();

}  // namespace relay::target
