#include "relay/transform/saved_types.h"

#include "relay/ir/copy.h"
#include "relay/ir/fields.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"

namespace relay::transform {

using namespace ir;

SavedTypes::SavedTypes(const Module& module) {
  NodeSet seen;
  auto add = [&](const Expr& e) {
    if (e->kind == ExprKind::Op || !seen.insert(e.get())) return;
    const Call* call = as<Call>(e);
    nodes_.push_back({e, e->type, call ? call->type_args : Types()});
  };
  for (const auto& [name, f] : module.functions)
    visit(f, [&](const Expr& e) {
      add(e);
      for_each_binder(e, [&](const VarRef& v) { add(v); });
    });
}

static bool same(const Type& a, const Type& b) { return a == b || (a && b && equal(a, b)); }

bool SavedTypes::restore() {
  bool changed = false;
  for (const Saved& saved : nodes_) {
    const Call* call = as<Call>(saved.node);
    bool kept = same(saved.node->type, saved.type) && (!call || call->type_args.size() == saved.type_args.size());
    for (size_t i = 0; call && kept && i < saved.type_args.size(); ++i)
      kept = same(call->type_args[i], saved.type_args[i]);
    if (kept) continue;
    changed = true;
    saved.node->type = saved.type;
    if (call) call->type_args = saved.type_args;
  }
  return changed;
}

Expr without_type(const Expr& e) {
  return dispatch(*e, [](const auto& node) -> Expr {
    using Node = std::remove_cvref_t<decltype(node)>;
    Node* copy = new Node(node);
    Expr owner(copy);
    copy->type = nullptr;
    if constexpr (std::is_same_v<Node, Call>) copy->type_args.clear();
    return owner;
  });
}

Module without_types(const Module& module) {
  Module out = module;
  for (auto& [name, f] : out.functions)
    f = FunctionRef(as<Function>(rewrite(copy(f, {}, CopiedTypes::Forgotten), [](const Expr& e) -> Expr {
      return e->kind == ExprKind::Op || e->kind == ExprKind::Var ? e : without_type(e);
    })));
  return out;
}

FunctionRef separate_copy(const FunctionRef& function) {
  return FunctionRef(as<Function>(rewrite(copy(function, {}), [](const Expr& before, const Expr& now) -> Expr {
    if (now->kind == ExprKind::Op || now->kind == ExprKind::Var) return now;
    return dispatch(*now, [&](const auto& node) -> Expr {
      using Node = std::remove_cvref_t<decltype(node)>;
      Node* made = new Node(node);
      Expr owner(made);
      made->type = before->type;
      if constexpr (std::is_same_v<Node, Call>) made->type_args = static_cast<const Call&>(*before).type_args;
      return owner;
    });
  })));
}

Module separate_copy(const Module& module) {
  Module out = module;
  for (auto& [name, f] : out.functions) f = separate_copy(f);
  return out;
}

}  // namespace relay::transform
