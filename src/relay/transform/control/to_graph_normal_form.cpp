// to_graph_normal_form: replaces variables bound to values without effects by the values, which are then shared.
//
//   let %a = exp(%x); add(%a, %a)        becomes        %0 = exp(%x); add(%0, %0)
//
// A let is kept if its value reads, writes or creates references (order matters), if it is a function (recursion refers
// to its name), if an inner function uses it, because that would recompute it at every call, if it has branches and
// only some inner scopes use it, because each would get a copy of them, if its annotation may determine the value's
// type (`let %none: List[int32] = Nil`), and if its annotation has a size `?` that the value's type knows.
#include "relay/transform/control/to_graph_normal_form.h"

#include "relay/ir/rewrite.h"
#include "relay/transform/control/forgotten_sizes.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/owners.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

static bool is_operand(const Expr& e) {
  return e->kind == ExprKind::Constant || e->kind == ExprKind::Var || e->kind == ExprKind::GlobalVar;
}

// `values`: filled with the values of the variables that it replaces.
static FunctionRef inlined(const FunctionRef& f, const Effects& effects, const NodeSet& kept, NodeMap<Expr>& values) {
  NodeMap<std::vector<const ExprNode*>> vars_of;  // from values to the variables that they replace
  NodeSet replaced;
  visit(f, [&](const Expr& e) {
    const Let* let = as<Let>(e);
    if (!let || let->value->kind == ExprKind::Function || effects.of(let->value) != Effect::None) return;
    if (kept.contains(let->var.get()) && !is_operand(let->value)) return;
    if (needs_annotation(*let)) return;
    vars_of[let->value.get()].push_back(let->var.get());
    replaced.insert(let->var.get());
  });
  Expr result = rewrite(f, [&](const Expr& before, const Expr& now) -> Expr {
    Expr r = now;
    if (before->kind == ExprKind::Var && replaced.contains(before.get())) {
      const Expr* value = values.find(before.get());
      RELAY_CHECK(value, "%{} is used before its let", as<Var>(before)->name);
      r = *value;
    } else if (const Let* let = as<Let>(before); let && replaced.contains(let->var.get())) {
      r = as<Let>(now)->body;
    }
    if (const std::vector<const ExprNode*>* vars = vars_of.find(before.get()))
      for (const ExprNode* v : *vars) values[v] = r;
    return r;
  });
  return FunctionRef(as<Function>(result));
}

FunctionRef inline_lets(const FunctionRef& f, const Effects& effects, const NodeSet& kept) {
  NodeMap<Expr> values;
  return inlined(f, effects, kept, values);
}

// Keeps the variables whose values have branches and would be computed in several scopes: a program of branches in a
// row would otherwise double with each.
static FunctionRef as_graph(const FunctionRef& f, Effects& effects) {
  NodeSet kept = captured_variables(f);
  NodeMap<Expr> values;
  effects.look_at(f);
  FunctionRef made = inlined(f, effects, kept, values);
  bool branches = false;
  visit(f, [&](const Expr& e) { branches = branches || e->kind == ExprKind::If || e->kind == ExprKind::Match; });
  if (!branches) return made;
  effects.look_at(made);
  const Owners owners(made->body, &effects, Sharing::Common);
  bool repeats = false;
  visit(f, [&](const Expr& e) {
    const Let* let = as<Let>(e);
    const Expr* value = let ? values.find(let->var.get()) : nullptr;
    if (value && owners.is_shared(value->get())) repeats = kept.insert(let->var.get()) || repeats;
  });
  if (!repeats) return made;
  effects.look_at(f);
  return inline_lets(f, effects, kept);
}

Result<Module> to_graph_normal_form(const Module& module, PassContext&) {
  Effects effects(module);
  return for_each_function(module, [&](const FunctionRef& f) { return as_graph(f, effects); });
}

}  // namespace relay::transform
