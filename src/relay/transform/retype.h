// Copies a function with other types, for passes that change the representation of values: closures into data, tensors
// into cells.
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

// Replaces each type that is written in `f` (of parameters, variables, patterns and results) by `change` of it; null
// stays null. `rule(before, now)` returns the replacement of a node: `now` is `before` with new children and variables.
// Parameters get explicit types. Nodes whose types may have changed lose them; the caller must infer them.
ir::FunctionRef retyped(const ir::FunctionRef& f, function_ref<ir::Type(const ir::Type&)> change,
                        function_ref<ir::Expr(const ir::Expr& before, const ir::Expr& now)> rule);

}  // namespace relay::transform
