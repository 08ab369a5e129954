#include "relay/transform/gradient/checkpoints.h"

#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/transform/attributes.h"

namespace relay::transform {

using namespace ir;

NodeMap<std::vector<size_t>> checkpointed(const std::vector<Binding>& bindings) {
  // For each variable, the only checkpoint that it leads to; null for none or several.
  NodeMap<const ExprNode*> leads_to;
  NodeMap<bool> used;
  NodeMap<std::vector<size_t>> pieces;
  for (size_t i = bindings.size(); i-- > 0;) {
    const Binding& b = bindings[i];
    const bool is_checkpoint = call_of(b.value, "annotation.checkpoint");
    const ExprNode** own = leads_to.find(b.var.get());
    const ExprNode* target = is_checkpoint ? b.var.get() : own ? *own : nullptr;
    if (!is_checkpoint && target) pieces[target].push_back(i);
    for_each_child(b.value, [&](const Expr& child) {
      if (child->kind != ExprKind::Var) return;
      const ExprNode*& known = leads_to[child.get()];
      known = used.insert(child.get(), true) || known == target ? target : nullptr;
    });
  }
  NodeMap<std::vector<size_t>> out;
  for (const Binding& b : bindings)
    if (std::vector<size_t>* piece = pieces.find(b.var.get())) out[b.var.get()] = {piece->rbegin(), piece->rend()};
  return out;
}

Recomputed recompute(const std::vector<Binding>& bindings, const std::vector<size_t>& piece,
                     const Expr& checkpoint_input) {
  Recomputed out;
  NodeMap<VarRef> fresh;
  for (const size_t i : piece) fresh[bindings[i].var.get()] = nullptr;
  auto counterpart = [&](const Expr& e) -> Expr {
    const Var* v = as<Var>(e);
    if (!v || (!fresh.contains(v) && !as<TensorType>(v->type))) return e;  // tuples are not wrapped in checkpoints
    VarRef& known = fresh[v];
    if (known) return known;
    known = var(v->name, nullptr, v->span);
    known->type = v->type;
    out.inputs.emplace_back(VarRef(v), known);
    return known;
  };
  for (const size_t i : piece) {
    Exprs children;
    for_each_child(bindings[i].value, [&](const Expr& child) { children.push_back(counterpart(child)); });
    Expr value = with_children(bindings[i].value, children);
    value->type = bindings[i].value->type;
    VarRef copy = var(bindings[i].var->name, nullptr, bindings[i].var->span);
    copy->type = bindings[i].var->type;
    fresh[bindings[i].var.get()] = copy;
    out.bindings.push_back({copy, value});
  }
  out.value = counterpart(checkpoint_input);
  return out;
}

}  // namespace relay::transform
