// Sequences and optional values whose contents are known only at run time: values of the prelude's List and Option
// (prelude/sequence.relay). An expression of type List[T] is stored in reverse order.
//
// A Value with `list` or `none` is known at import; the functions here convert it to one of these types if both kinds
// meet.
#pragma once

#include "relay/frontend/onnx/convert.h"
#include "relay/frontend/onnx/list_types.h"

namespace relay::onnx::lists {

inline bool is_list(const Value& v) { return v.expr && element_of_list(v.expr->type); }
inline bool is_option(const Value& v) { return v.expr && element_of_option(v.expr->type); }

// The type of a value as far as it is known: List[_] for an empty sequence, Option[_] for an absent optional value.
// Null if it cannot have such a type (reported).
ir::Type type_of(Convert& c, const Value& value);
// The common type of both, an optional value if only one of them is; null if there is none (not reported).
ir::Type common(const ir::Type& a, const ir::Type& b);
// The value with a type returned by common().
ir::Expr as(Convert& c, const Value& value, const ir::Type& type);

// A list, or an optional value, with a type that is less specific about its tensors' sizes.
ir::Expr widened(Convert& c, const ir::Expr& e, const ir::Type& type);
// Calls a function of the prelude.
ir::Expr call(Convert& c, const char* name, ir::Exprs args, const ir::Type& result);
ir::Expr empty(Convert& c, const ir::Type& list);
// `list` with a tensor appended; its type is the common one of both.
ir::Expr append(Convert& c, const ir::Expr& list, const ir::Expr& tensor);
// Reports a tensor that a sequence cannot take.
Failure mixed(Convert& c, const ir::Type& tensor, const ir::Type& element);
// The list in reverse order.
ir::Expr reversed(Convert& c, const ir::Expr& list);

}  // namespace relay::onnx::lists
