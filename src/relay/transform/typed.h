// New nodes with their types at once, for passes that look at what they have made. The operands are typed.
#pragma once

#include "relay/op/registry.h"

namespace relay::transform {

// A call of an operator; null: it does not take these arguments and attributes.
ir::Expr try_call(const ir::Expr& op, ir::Exprs args, ir::Attrs attrs, const Span& span);
// One that is known to be right: else it is the pass that is wrong.
ir::Expr typed_call(std::string_view name, ir::Exprs args, const op::AttrValues& attrs, const Span& span);
// A projection; of a tuple that is written out the element.
ir::Expr typed_get(const ir::Expr& tuple, int64_t index, const Span& span);
ir::Expr typed_tuple(ir::Exprs elements, const Span& span);
ir::Expr typed_scalar(double value, DType dtype);

}  // namespace relay::transform
