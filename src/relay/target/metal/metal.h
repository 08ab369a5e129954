// GPUs of Apple. Kernels are text in Metal's language for Apple's compiler (codegen/c/c_source.h: metal_source).
#pragma once

#include "relay/codegen/codegen.h"

namespace relay::target {

codegen::TargetDef metal();

}  // namespace relay::target
