// Variables with fewer known sizes than their values: let %y: Tensor[(?), float32] = %x, of an %x with two elements.
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

// The types inside of a type: fields, arguments, the result.
ir::Types types_inside(const ir::Type& type);

// True if a type has a size `?`.
bool has_unknown_size(const ir::Type& type);

// True if a type has a size `?` where that of a value has another.
bool forgets_sizes(const ir::Type& type, const ir::Type& value);

// True if a variable has a size `?` where its value has another. Both are typed. The variable cannot be replaced by its
// value then: an `if` may need it, whose other branch has other sizes.
bool forgets_sizes(const ir::Var& var, const ir::Expr& value);

// True if a let's annotation may determine the type of its value (Nil), or forgets sizes of it.
bool needs_annotation(const ir::Let& let);

// The value as one of `type`: bound to a variable of it if it forgets sizes of `known`, the value's type.
ir::Expr with_type(const ir::Expr& value, const ir::Type& type, const ir::Type& known);

}  // namespace relay::transform
