// Functions derived from the `fields` lists of the node structs: dispatch on the kind, and visiting of fields.
//
//   dispatch(*e, [&](const auto& node) { for_each_field(node, [&](const auto& field) { print(field); }); });
//
// A field of type Expr or Exprs, and the bodies in a list of clauses, are the children.
#pragma once

#include "relay/ir/expr.h"

namespace relay::ir {

// Calls f with the node as its concrete type.
template <class F>
decltype(auto) dispatch(const ExprNode& e, F&& f) {
  switch (e.kind) {
#define RELAY_EXPR(kind) \
  case ExprKind::kind: return f(static_cast<const kind&>(e));
#include "relay/ir/exprs.def"
#undef RELAY_EXPR
  }
  RELAY_CHECK(false, "an expression of kind {}", static_cast<int>(e.kind));
  __builtin_unreachable();
}

template <class Node, class F>
void for_each_field(Node& node, F&& f) {
  std::apply([&](const auto&... member) { (f(node.*member), ...); }, std::remove_cv_t<Node>::fields);
}

// Calls f(a.x, b.x) for every field x until one call returns false.
template <class Node, class F>
bool all_fields(const Node& a, const Node& b, F&& f) {
  return std::apply([&](const auto&... member) { return (f(a.*member, b.*member) && ...); }, Node::fields);
}

// The children within one field; `Field` may be const or not, f gets (const) Expr&.
template <class Field, class F>
void for_each_child_of_field(Field& field, F&& f) {
  using Plain = std::remove_cv_t<Field>;
  if constexpr (std::is_same_v<Plain, Expr>) {
    f(field);
  } else if constexpr (std::is_same_v<Plain, Exprs>) {
    for (auto& e : field) f(e);
  } else if constexpr (std::is_same_v<Plain, std::vector<Clause>>) {
    for (auto& clause : field) f(clause.body);
  }
}

// The variables a pattern binds, in order of the text.
void for_each_var(const Pattern& pattern, function_ref<void(const VarRef&)> f);

// The variables a node binds over its children: parameters, the variable of a let, those of all patterns of a match.
void for_each_binder(const Expr& e, function_ref<void(const VarRef&)> f);

}  // namespace relay::ir
