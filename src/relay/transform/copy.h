// Bodies of functions in place of calls.
#pragma once

#include "relay/ir/copy.h"

namespace relay::transform {

using ir::copy;

// The body of a function with the arguments in place of its parameters. Those that have an effect, and those that would
// be evaluated in a branch or in a function inside of it, are let-bound before it. `is_pure(i)`: argument i has no
// effect.
ir::Expr call_in_place(const ir::Function& function, const ir::Exprs& args, function_ref<bool(size_t)> is_pure);

}  // namespace relay::transform
