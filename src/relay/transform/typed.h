// New nodes with types, for passes that inspect the nodes that they made. The operands are typed.
#pragma once

#include "relay/op/registry.h"

namespace relay::transform {

// A call of an operator; null if it does not accept these arguments and attributes.
ir::Expr try_call(const ir::Expr& op, ir::Exprs args, ir::Attrs attrs, const Span& span);
// A call that is known to be valid; an error is a bug of the pass.
ir::Expr typed_call(std::string_view name, ir::Exprs args, const op::AttrValues& attrs, const Span& span);
// A projection; of a tuple expression, the element itself.
ir::Expr typed_get(const ir::Expr& tuple, int64_t index, const Span& span);
ir::Expr typed_tuple(ir::Exprs elements, const Span& span);
ir::Expr typed_scalar(double value, DType dtype);

}  // namespace relay::transform
