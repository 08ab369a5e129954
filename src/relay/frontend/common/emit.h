// Typed expressions: an importer's expressions are typed immediately, so that the shape and element type of every value
// are available while the next node is converted. Arguments must be typed and not null.
#pragma once

#include "relay/ir/expr.h"
#include "relay/tensor/tensor.h"

namespace relay::frontend {

using EmitAttrs = std::vector<std::pair<std::string, ir::AttrValue>>;

// A call of the operator `name`, typed by its relation. Errors (no such operator or attribute, a constraint that does
// not hold) have no place yet.
Result<ir::Expr> emit_call(const char* name, ir::Exprs args, const EmitAttrs& attrs, const Span& place);
ir::Expr emit_constant(Tensor value, Span place);
ir::Expr emit_tuple(ir::Exprs elements, const Span& place);
// Field `index` of a tuple, which must have it.
ir::Expr emit_get(const ir::Expr& tuple, int64_t index, const Span& place);
// An `if`; both sides must have the same type.
ir::Expr emit_if(const ir::Expr& condition, const ir::Expr& then_side, const ir::Expr& else_side, const Span& place);

}  // namespace relay::frontend
