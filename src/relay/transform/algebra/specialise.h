// Types of a straight-line piece of a program with unknown sizes: each `?` of its parameters becomes a separate shape
// variable, and all other sizes follow from the operators' relations.
//
//   fn (%a: Tensor[(?, 4), float32], %b: Tensor[(2, 4), float32]) { concatenate((%a, %b), axis=0) }
//   fn (%a: Tensor[(d0, 4), float32], %b: Tensor[(2, 4), float32]) -> Tensor[(d0 + 2, 4), float32] { ... }
//
// Two sizes that an operator requires to be equal become one: this is checked on entry to the function (so a `?` that
// meets another size is that size, never a 1 that is broadcast). A size that depends on values is a diagnostic that
// names the operator.
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

// `function`: typed; a body of calls of operators and primitive functions, tuples, projections and constants, without
// let. Returns the same pointer if it contains nothing unknown.
Result<ir::FunctionRef> specialise(const ir::FunctionRef& function);

}  // namespace relay::transform
