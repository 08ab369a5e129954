// The target of the machine that this program runs on, which knows "native".
#pragma once

#include "relay/codegen/codegen.h"

namespace relay::target {

// x86() or aarch64().
codegen::TargetDef host();

}  // namespace relay::target
