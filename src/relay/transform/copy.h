// Replaces calls by bodies of functions.
#pragma once

#include "relay/ir/copy.h"

namespace relay::transform {

using ir::copy;

// The body of a function with the arguments in place of its parameters. Arguments that have an effect, and those that
// would be evaluated in a branch or in an inner function, are let-bound before it. `is_pure(i)`: argument i has no
// effect.
ir::Expr call_in_place(const ir::Function& function, const ir::Exprs& args, function_ref<bool(size_t)> is_pure);

}  // namespace relay::transform
