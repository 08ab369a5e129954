// A function again with other types in it, for passes that change what values are: closures into data, tensors into
// cells.
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

// Each type that is written in `f` (of parameters, variables, patterns and results) as `change` gives it, null as null.
// `rule(before, now)` gives what stands in the place of a node: `now` is `before` with new children and variables.
// Parameters get their types written out. Nodes whose types may have changed lose them; infer them anew.
ir::FunctionRef retyped(const ir::FunctionRef& f, function_ref<ir::Type(const ir::Type&)> change,
                        function_ref<ir::Expr(const ir::Expr& before, const ir::Expr& now)> rule);

}  // namespace relay::transform
