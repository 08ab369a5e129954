// Requirements on every program that do not involve types: each variable is bound once and used in its scope, globals
// and constructors exist, constants have values.
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

// The errors; empty if the module is well-formed.
Diagnostics well_formed(const ir::Module& module);
// Free variables are allowed if `allow_free` is set.
Diagnostics well_formed(const ir::Expr& expr, const ir::Module* module = nullptr, bool allow_free = false);

}  // namespace relay::transform
