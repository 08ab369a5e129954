// Sequences and optional values whose contents are known only when the model runs: values of the prelude's List and
// Option (prelude/sequence.relay). An expression of type List[T] is held back to front.
//
// A Value with `list` or `none` is one that is known at import; the functions here make it one of these types where
// both kinds meet.
#pragma once

#include "relay/frontend/onnx/convert.h"
#include "relay/frontend/onnx/list_types.h"

namespace relay::onnx::lists {

inline bool is_list(const Value& v) { return v.expr && element_of_list(v.expr->type); }
inline bool is_option(const Value& v) { return v.expr && element_of_option(v.expr->type); }

// The type of what is known of a value: of an empty sequence List[_], of an absent optional value Option[_]. Null: it
// cannot be one (reported).
ir::Type type_of(Convert& c, const Value& value);
// What both can be seen as, an optional value where only one of them is; null: nothing (not reported).
ir::Type common(const ir::Type& a, const ir::Type& b);
// The value under a type that common() gave.
ir::Expr as(Convert& c, const Value& value, const ir::Type& type);

// A list, or an optional value, under a type that says less of its tensors' sizes.
ir::Expr widened(Convert& c, const ir::Expr& e, const ir::Type& type);
// A function of the prelude, called.
ir::Expr call(Convert& c, const char* name, ir::Exprs args, const ir::Type& result);
ir::Expr empty(Convert& c, const ir::Type& list);
// `list` with a tensor behind its last; the type says what both have in common.
ir::Expr append(Convert& c, const ir::Expr& list, const ir::Expr& tensor);
// Reports a tensor that a sequence cannot take.
Failure mixed(Convert& c, const ir::Type& tensor, const ir::Type& element);
// The list from its other end.
ir::Expr reversed(Convert& c, const ir::Expr& list);

}  // namespace relay::onnx::lists
