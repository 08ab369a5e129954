// Other sizes for shape variables, everywhere in a function.
//
//   fn (%x: Tensor[(n), float32], %y: Tensor[(m), float32]) { ... reshape(%x, newshape=[n, 1]) ... }     with n := 4
//
// Annotations of parameters, lets, inner functions and patterns, and attributes. Nodes in the result have no types.
#pragma once

#include "relay/ir/expr.h"

namespace relay::ir {

// The same attributes where none of them changes.
Result<Attrs> substitute_dims(const Attrs& attrs, const std::vector<scalar::Binding>& bindings);
// A diagnostic when an attribute cannot have the new value.
Result<FunctionRef> substitute_dims(const FunctionRef& function, const std::vector<scalar::Binding>& bindings);

}  // namespace relay::ir
