// 64-bit ARM processors, by their 128-bit vectors (NEON): "native" on one of them, "cortex-a72", ...
#pragma once

#include "relay/codegen/codegen.h"

namespace relay::target {

codegen::TargetDef aarch64();

}  // namespace relay::target
