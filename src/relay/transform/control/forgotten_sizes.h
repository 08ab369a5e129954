// Variables with fewer known sizes than their values: let %y: Tensor[(?), float32] = %x, of an %x with two elements.
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

// The types inside of a type: fields, arguments, the result.
ir::Types types_inside(const ir::Type& type);

// True if a type has a size `?`.
bool has_unknown_size(const ir::Type& type);

// True if a variable has a size `?` where its value has another. Both are typed. The variable cannot be replaced by its
// value then: an `if` may need it, whose other branch has other sizes.
bool forgets_sizes(const ir::Var& var, const ir::Expr& value);

}  // namespace relay::transform
