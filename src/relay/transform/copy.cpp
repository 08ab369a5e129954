#include "relay/transform/copy.h"

#include "relay/ir/fields.h"
#include "relay/transform/dataflow.h"

namespace relay::transform {

using namespace ir;

static VarRef copy_of(const Var& v) {
  VarRef copy = var(v.name, v.annotation, v.span);
  copy->type = v.type;
  return copy;
}

static Pattern with_vars(const Pattern& p, const VarMap& fresh) {
  Ref<PatternNode> out(new PatternNode);
  out->kind = p->kind, out->constructor = p->constructor;
  if (p->var) out->var = VarRef(as<Var>(fresh.at(p->var.get())));
  for (const Pattern& inner : p->patterns) out->patterns.push_back(with_vars(inner, fresh));
  return out;
}

// The node with the variables that it binds replaced.
static Expr with_binders(const Expr& now, const VarMap& fresh) {
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
  if (!out->type) out->type = now->type;
  return out;
}

Expr copy(const Expr& e, VarMap values) {
  visit(e, [&](const Expr& node) { for_each_binder(node, [&](const VarRef& v) { values[v.get()] = copy_of(*v); }); });
  return rewrite(e, [&](const Expr& before, const Expr& now) -> Expr {
    if (before->kind != ExprKind::Var) return with_binders(now, values);
    VarMap::const_iterator found = values.find(before.get());
    return found == values.end() ? now : found->second;
  });
}

// Whether everything in it is evaluated once: nothing is in a branch or in a function.
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
