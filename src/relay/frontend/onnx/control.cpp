// Graphs inside nodes.
#include "relay/frontend/onnx/convert.h"

namespace relay::onnx::convert {

using ir::Expr;

// A condition that is known at import leaves one branch. Else both branches become the sides of an `if`.
Values If(Convert& c) {
  if (KnownRef condition = c.known(0); condition && condition->values.size() == 1 && is_int(condition->values[0])) {
    std::optional<Values> chosen = c.subgraph(condition->values[0]->ivalue ? "then_branch" : "else_branch");
    return chosen ? *chosen : Values();
  }
  Expr condition = c.input(0);
  if (c.rank(condition) > 0) condition = c.reshape(condition, {});
  std::optional<Values> then_values = c.subgraph("then_branch"), else_values = c.subgraph("else_branch");
  if (!condition || !then_values || !else_values) return {};
  if (then_values->size() != else_values->size() || then_values->empty())
    return c.bad("its branches have {} and {} outputs", then_values->size(), else_values->size());
  ir::Exprs then_side, else_side;
  for (size_t i = 0; i < then_values->size(); ++i) {
    then_side.push_back((*then_values)[i].expr), else_side.push_back((*else_values)[i].expr);
    if (!equal(then_side[i]->type, else_side[i]->type))
      return c.unsupported("output {} is {} in one branch and {} in the other", i, ir::str(then_side[i]->type),
                           ir::str(else_side[i]->type));
  }
  bool one = then_side.size() == 1;
  Expr result = c.choose(condition, one ? then_side[0] : c.tuple(then_side), one ? else_side[0] : c.tuple(else_side));
  if (one) return {result};
  Values fields;
  for (size_t i = 0; i < then_side.size(); ++i) fields.push_back(Value(c.get(result, static_cast<int64_t>(i))));
  return fields;
}

}  // namespace relay::onnx::convert
