// x86-64 processors.
#pragma once

#include "relay/codegen/codegen.h"

namespace relay::target {

// Texts: "native", "zen4", "haswell,-fma", "native,-avx512f", ...: a processor, then features to add or to leave out.
codegen::TargetDef x86();

}  // namespace relay::target
