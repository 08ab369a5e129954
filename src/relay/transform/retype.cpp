#include "relay/transform/retype.h"

#include "relay/ir/fields.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/group/dataflow.h"

namespace relay::transform {

using namespace ir;

namespace {

// Recursive: patterns nest only as deep as written; the parser limits their depth.
Pattern with_vars(const Pattern& p, const VarMap& fresh) {
  Ref<PatternNode> out(new PatternNode(*p));
  if (p->var) out->var = as_var(fresh.at(p->var.get()));
  for (Pattern& inner : out->patterns) inner = with_vars(inner, fresh);
  return out;
}

}  // namespace

FunctionRef retyped(const FunctionRef& f, function_ref<Type(const Type&)> change,
                    function_ref<Expr(const Expr&, const Expr&)> rule) {
  VarMap fresh;
  auto renew = [&](const VarRef& v, const Type& type) { fresh[v.get()] = var(v->name, change(type), v->span); };
  visit(f, [&](const Expr& e) {
    const bool parameters = e->kind == ExprKind::Function;
    for_each_binder(e, [&](const VarRef& v) { renew(v, parameters && !v->annotation ? v->type : v->annotation); });
  });
  auto renewed = [&](const Expr& before, const Expr& now) -> Expr {
    if (is_closed(before)) return before;
    switch (before->kind) {
      case ExprKind::Var: {
        const VarMap::const_iterator found = fresh.find(before.get());
        return found == fresh.end() ? now : found->second;
      }
      case ExprKind::GlobalVar: return global(as<GlobalVar>(before)->name, before->span);  // the old node has a type
      case ExprKind::Call: {  // of a constructor without fields: nothing below it shows that its type has changed
        const Call* c = as<Call>(now);
        const bool is_leaf = now == before && c->callee->kind == ExprKind::Constructor;
        return is_leaf ? call(c->callee, c->args, c->attrs, now->span) : now;
      }
      case ExprKind::Function: {
        const Function* function = as<Function>(now);
        std::vector<VarRef> params;
        for (const VarRef& p : function->params) params.push_back(as_var(fresh.at(p.get())));
        return ir::function(std::move(params), function->body, change(function->result_type), function->type_params,
                            function->attrs, now->span);
      }
      case ExprKind::Let: {
        const Let* l = as<Let>(now);
        return let(as_var(fresh.at(l->var.get())), l->value, l->body, now->span);
      }
      case ExprKind::Match: {
        const Match* m = as<Match>(now);
        std::vector<Clause> clauses;
        for (const Clause& c : m->clauses) clauses.push_back({with_vars(c.pattern, fresh), c.body});
        Ref<Match> made(new Match(m->data, std::move(clauses), m->complete));
        made->span = now->span;
        return Ref<const Match>(made);
      }
      default: return now;
    }
  };
  const Expr out =
      rewrite(f, [&](const Expr& before, const Expr& now) -> Expr { return rule(before, renewed(before, now)); });
  return FunctionRef(as<Function>(out));
}

}  // namespace relay::transform
