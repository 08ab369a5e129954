// Processors for the tests of lowering: what they expect must not depend on this machine.
#pragma once

#include "relay/base/target_desc.h"

namespace relay::lower {

// With wide vectors.
inline TargetDesc wide() {
  TargetDesc t;
  t.vector_bytes = 64, t.vector_registers = 32, t.l2_bytes = 1 << 20, t.has_fma = true, t.has_masks = true;
  return t;
}

// With vectors of 32 bytes, and all else as it is described by default.
inline TargetDesc small() {
  TargetDesc t;
  t.vector_bytes = 32, t.has_fma = true, t.has_masks = true;
  return t;
}

}  // namespace relay::lower
