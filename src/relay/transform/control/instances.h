// Monomorphisation: instantiates every global function that @main reaches at the types of its calls.
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

// The module with @main and, for each function with type parameters, a copy for each list of types that it is called
// with: @map becomes @map_0 of Tensor[(3), float32], @map_1 of int32. Functions that @main does not reach are dropped.
// A function with type parameters is refused if it is used as a value, if it calls itself at ever larger types, or,
// unless `inner_stay`, if it is inside of another function. The result is typed.
Result<ir::Module> instances(const ir::Module& module, bool inner_stay);

}  // namespace relay::transform
