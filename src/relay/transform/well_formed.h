// What every program must satisfy before types are looked at: each variable is bound once and used in its scope,
// globals and constructors exist, constants have values.
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

// What is wrong; empty when nothing is.
Diagnostics well_formed(const ir::Module& module);
// Free variables are allowed when `allow_free`.
Diagnostics well_formed(const ir::Expr& expr, const ir::Module* module = nullptr, bool allow_free = false);

}  // namespace relay::transform
