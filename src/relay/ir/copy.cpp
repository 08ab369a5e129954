#include "relay/ir/copy.h"

#include "relay/ir/fields.h"

namespace relay::ir {

VarRef copy_of(const Var& v, CopiedTypes types) {
  VarRef copy = var(v.name, v.annotation, v.span);
  if (types == CopiedTypes::Kept) copy->type = v.type;
  return copy;
}

static Pattern with_vars(const Pattern& p, const VarMap& fresh) {
  Ref<PatternNode> out(new PatternNode);
  out->kind = p->kind, out->constructor = p->constructor;
  if (p->var) out->var = VarRef(as<Var>(fresh.at(p->var.get())));
  for (const Pattern& inner : p->patterns) out->patterns.push_back(with_vars(inner, fresh));
  return out;
}

// The node with replaced binders.
static Expr with_binders(const Expr& now, const VarMap& fresh, CopiedTypes types) {
  Expr out = now;
  if (const Let* l = as<Let>(now)) out = let(VarRef(as<Var>(fresh.at(l->var.get()))), l->value, l->body, now->span);
  if (const Function* f = as<Function>(now); f && !f->params.empty()) {
    std::vector<VarRef> params;
    for (const VarRef& p : f->params) params.push_back(VarRef(as<Var>(fresh.at(p.get()))));
    out = function(std::move(params), f->body, f->result_type, f->type_params, f->attrs, now->span);
  }
  if (const Match* m = as<Match>(now)) {
    std::vector<Clause> clauses;
    for (const Clause& c : m->clauses) clauses.push_back({with_vars(c.pattern, fresh), c.body});
    Ref<Match> made(new Match(m->data, std::move(clauses), m->complete));
    made->span = now->span;
    out = Ref<const Match>(made);
  }
  if (types == CopiedTypes::Forgotten) {
    if (out != now) out->type = nullptr;
  } else if (!out->type) {
    out->type = now->type;
  }
  return out;
}

Expr copy(const Expr& e, VarMap values, CopiedTypes types) {
  visit(e, [&](const Expr& node) {
    for_each_binder(node, [&](const VarRef& v) { values[v.get()] = copy_of(*v, types); });
  });
  return rewrite(e, [&](const Expr& before, const Expr& now) -> Expr {
    if (before->kind != ExprKind::Var) return with_binders(now, values, types);
    VarMap::const_iterator found = values.find(before.get());
    return found == values.end() ? now : found->second;
  });
}

}  // namespace relay::ir
