// 64-bit ARM processors, by their 128-bit vectors (NEON). Objects can be compiled for them, but cannot run here.
#pragma once

#include "relay/codegen/codegen.h"

namespace relay::target {

codegen::TargetDef aarch64();

}  // namespace relay::target
