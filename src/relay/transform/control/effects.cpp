#include "relay/transform/control/effects.h"

#include <algorithm>

#include "relay/ir/rewrite.h"

namespace relay::transform {

using namespace ir;

Effects::Effects(const Module& module) {
  for (const auto& [name, f] : module.functions) globals_[name] = Effect::None;
  // Functions are assumed pure at first; effects only grow, so this terminates.
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [name, f] : module.functions) {
      Effect& known = globals_[name];
      if (known == Effect::Writes) continue;
      look_at(f);
      Effect body = *bodies_.find(f.get());
      if (body > known) known = body, changed = true;
    }
  }
}

Effect Effects::of_call(const Expr& callee) const {
  switch (callee->kind) {
    case ExprKind::Op:
    case ExprKind::Constructor: return Effect::None;
    case ExprKind::GlobalVar: {
      std::map<std::string, Effect>::const_iterator found = globals_.find(as<GlobalVar>(callee)->name);
      return found == globals_.end() ? Effect::Writes : found->second;
    }
    case ExprKind::Function: {
      const Effect* body = bodies_.find(callee.get());
      return body ? *body : Effect::Writes;
    }
    case ExprKind::Var: {
      const ExprNode* const* function = let_functions_.find(callee.get());
      const Effect* body = function ? bodies_.find(*function) : nullptr;
      return body ? *body : Effect::Writes;  // a recursive call inside its own body: not known yet
    }
    default: return Effect::Writes;
  }
}

void Effects::look_at(const FunctionRef& f) {
  nodes_ = {}, bodies_ = {}, let_functions_ = {};
  // Variables bound to functions are recorded before the bodies that call them are analysed.
  visit(f, [&](const Expr& e) {
    if (const Let* let = as<Let>(e); let && let->value->kind == ExprKind::Function)
      let_functions_[let->var.get()] = let->value.get();
  });
  visit(f, [&](const Expr& e) {
    Effect effect = Effect::None;
    if (e->kind == ExprKind::RefCreate || e->kind == ExprKind::RefRead) effect = Effect::Reads;
    if (e->kind == ExprKind::RefWrite) effect = Effect::Writes;
    if (const Call* call = as<Call>(e)) effect = of_call(call->callee);
    if (const Function* function = as<Function>(e)) {
      bodies_[e.get()] = *nodes_.find(function->body.get());
    } else {
      for_each_child(e, [&](const Expr& child) { effect = std::max(effect, *nodes_.find(child.get())); });
    }
    nodes_[e.get()] = effect;
  });
}

Effect Effects::of(const Expr& e) const {
  const Effect* known = nodes_.find(e.get());
  return known ? *known : Effect::Writes;
}

}  // namespace relay::transform
