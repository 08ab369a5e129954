// 64-bit RISC-V processors with vectors (RVV 1.0). Objects can be compiled for them, but cannot run here.
#pragma once

#include "relay/codegen/codegen.h"

namespace relay::target {

codegen::TargetDef riscv();

}  // namespace relay::target
