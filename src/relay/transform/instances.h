// Monomorphisation: every global function that @main reaches at the types it is called with.
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

// The module with @main and, of each function with type parameters, a copy for each list of types that it is called
// with: @map becomes @map_0 of Tensor[(3), float32], @map_1 of int32. What @main does not reach is dropped. A function
// with type parameters that is a value, or that calls itself at ever larger types, is refused, and so is one inside of
// another function, unless `inner_stay`. The result has types.
Result<ir::Module> instances(const ir::Module& module, bool inner_stay);

}  // namespace relay::transform
