// Replaces calls of operators by their definitions in other operators (OpDef::definition).
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

// The definition of `now`, a call of an operator whose arguments may be new; `before` is the same call with typed
// arguments. Null if the operator has no definition.
ir::Expr definition_of(const ir::Call& before, const ir::Call& now);

}  // namespace relay::transform
