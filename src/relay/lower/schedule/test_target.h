// Targets for the tests of lowering: expected results must not depend on the host.
#pragma once

#include "relay/machine/target_desc.h"

namespace relay::lower {

// Wide vectors.
inline TargetDesc wide() {
  TargetDesc t;
  t.vector_bytes = 64, t.vector_registers = 32, t.l2_bytes = 1 << 20, t.has_fma = true, t.has_masks = true;
  return t;
}

// Vectors of 32 bytes, and defaults otherwise.
inline TargetDesc small() {
  TargetDesc t;
  t.vector_bytes = 32, t.has_fma = true, t.has_masks = true;
  return t;
}

}  // namespace relay::lower
