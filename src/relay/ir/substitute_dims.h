// Replaces shape variables by sizes, everywhere in a function.
//
//   fn (%x: Tensor[(n), float32], %y: Tensor[(m), float32]) { ... reshape(%x, newshape=[n, 1]) ... }     with n := 4
//
// Covers annotations of parameters, lets, inner functions and patterns, and attributes. Nodes in the result have no
// types.
#pragma once

#include "relay/ir/expr.h"

namespace relay::ir {

// Returns the same attributes if none of them changes.
Result<Attrs> substitute_dims(const Attrs& attrs, const std::vector<scalar::Binding>& bindings);
// Returns a diagnostic if an attribute cannot have the new value.
Result<FunctionRef> substitute_dims(const FunctionRef& function, const std::vector<scalar::Binding>& bindings);

}  // namespace relay::ir
