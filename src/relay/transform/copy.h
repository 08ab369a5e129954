// Replaces calls by bodies of functions.
#pragma once

#include "relay/ir/copy.h"

namespace relay::transform {

using ir::copy;

// The body of a function with the arguments in place of its parameters, and their sizes in place of the function's
// shape variables. Null if the body uses a variable that no argument determines: a size of one may be unknown.
//
// Arguments that have an effect, and those that would be evaluated in a branch or in an inner function, are let-bound
// before it. So are values whose type the function declares, such as Nil, with that type, and those with sizes that are
// `?` in the parameter's type: the body may be wrong for the known ones. `is_pure(i)`: argument i has no effect.
// `types`: of the arguments.
ir::Expr call_in_place(const ir::FunctionRef& function, const ir::Exprs& args, function_ref<bool(size_t)> is_pure,
                       const ir::Types& types);
ir::Types types_of(const ir::Exprs& args);

}  // namespace relay::transform
