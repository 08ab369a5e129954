#include "relay/transform/effects.h"

#include "relay/ir/rewrite.h"

namespace relay::transform {

using namespace ir;

Effects::Effects(const Module& module) {
  for (const auto& [name, f] : module.functions) globals_[name] = false;
  // Pure until shown otherwise; the set of effectful functions only grows, so this ends.
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [name, f] : module.functions) {
      if (globals_[name]) continue;
      look_at(f);
      if (*bodies_.find(f.get())) globals_[name] = changed = true;
    }
  }
}

bool Effects::calls_with_effect(const Expr& callee) const {
  switch (callee->kind) {
    case ExprKind::Op:
    case ExprKind::Constructor: return false;
    case ExprKind::GlobalVar: {
      std::map<std::string, bool>::const_iterator found = globals_.find(as<GlobalVar>(callee)->name);
      return found == globals_.end() || found->second;
    }
    case ExprKind::Function: {
      const bool* body = bodies_.find(callee.get());
      return !body || *body;
    }
    case ExprKind::Var: {
      const ExprNode* const* function = let_functions_.find(callee.get());
      if (!function) return true;
      const bool* body = bodies_.find(*function);
      return !body || *body;  // a recursive call inside its own body: not known yet, taken to have one
    }
    default: return true;
  }
}

void Effects::look_at(const FunctionRef& f) {
  nodes_ = {}, bodies_ = {}, let_functions_ = {};
  // Variables bound to functions are known before the bodies that call them are looked at.
  visit(f, [&](const Expr& e) {
    if (const Let* let = as<Let>(e); let && let->value->kind == ExprKind::Function)
      let_functions_[let->var.get()] = let->value.get();
  });
  visit(f, [&](const Expr& e) {
    bool effect = e->kind == ExprKind::RefWrite;
    if (const Call* call = as<Call>(e)) effect = calls_with_effect(call->callee);
    if (const Function* function = as<Function>(e)) {
      bodies_[e.get()] = *nodes_.find(function->body.get());
    } else {
      for_each_child(e, [&](const Expr& child) { effect = effect || *nodes_.find(child.get()); });
    }
    nodes_[e.get()] = effect && e->kind != ExprKind::Function;
  });
}

bool Effects::has_effect(const Expr& e) const {
  const bool* known = nodes_.find(e.get());
  return !known || *known;
}

}  // namespace relay::transform
