// The types of a straight piece of a program when sizes are unknown: each `?` of its parameters becomes a shape
// variable of its own, and all other sizes follow from the operators' relations.
//
//   fn (%a: Tensor[(?, 4), float32], %b: Tensor[(2, 4), float32]) { concatenate((%a, %b), axis=0) }
//   fn (%a: Tensor[(d0, 4), float32], %b: Tensor[(2, 4), float32]) -> Tensor[(d0 + 2, 4), float32] { ... }
//
// Two sizes that an operator wants equal become one: whoever runs the function checks at its entry that they are (so a
// `?` that meets another size is that size, never a 1 that is stretched). A size that depends on values is a diagnostic
// that names the operator.
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

// `function`: typed; a body of calls of operators and primitive functions, tuples, projections and constants, without
// let. The same pointer when there is nothing unknown in it.
Result<ir::FunctionRef> specialise(const ir::FunctionRef& function);

}  // namespace relay::transform
