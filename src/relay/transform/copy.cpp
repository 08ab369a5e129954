#include "relay/transform/copy.h"

#include "relay/transform/group/dataflow.h"

namespace relay::transform {

using namespace ir;

// True if everything in it is evaluated once: nothing is in a branch or in a function.
static bool is_straight(const Expr& body) {
  bool straight = true;
  visit(body, [&](const Expr& e) {
    straight = straight && (e->kind != ExprKind::Function || is_closed(e)) && e->kind != ExprKind::If &&
               e->kind != ExprKind::Match;
  });
  return straight;
}

Expr call_in_place(const Function& f, const Exprs& args, function_ref<bool(size_t)> is_pure) {
  bool straight = is_straight(f.body);
  VarMap values;
  std::vector<std::pair<VarRef, Expr>> bound;
  for (size_t i = 0; i < args.size(); ++i) {
    bool operand = args[i]->kind == ExprKind::Var || args[i]->kind == ExprKind::Constant;
    if (operand || (straight && is_pure(i))) {
      values[f.params[i].get()] = args[i];
    } else {
      bound.emplace_back(copy_of(*f.params[i]), args[i]);
      values[f.params[i].get()] = bound.back().first;
    }
  }
  Expr out = copy(f.body, std::move(values));
  for (size_t i = bound.size(); i-- > 0;) out = let(bound[i].first, bound[i].second, out, f.span);
  return out;
}

}  // namespace relay::transform
