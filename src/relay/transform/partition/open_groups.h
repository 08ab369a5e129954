// Groups that copies between devices would divide.
#pragma once

#include "relay/base/diagnostics.h"
#include "relay/ir/expr.h"

namespace relay::transform {

// Replaces calls of primitive functions that contain on_device by their bodies, so that values inside can be placed.
// The module is typed, and so is the result.
Result<ir::Module> open_annotated_groups(const ir::Module& module);

}  // namespace relay::transform
