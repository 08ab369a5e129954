// to_graph_normal_form: a variable bound to a value without effects is replaced by the value, which is then shared.
//
//   let %a = exp(%x); add(%a, %a)        becomes        %0 = exp(%x); add(%0, %0)
//
// A let stays when its value writes or reads references (order matters), creates one, or is a function that calls itself.
#include "relay/ir/rewrite.h"
#include "relay/transform/effects.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

// Nodes that evaluate a reference operation, themselves or below (but not inside function values).
static NodeSet reference_nodes(const Expr& root) {
  NodeSet found;
  visit(root, [&](const Expr& e) {
    bool has = e->kind == ExprKind::RefCreate || e->kind == ExprKind::RefRead || e->kind == ExprKind::RefWrite;
    if (e->kind != ExprKind::Function) for_each_child(e, [&](const Expr& c) { has = has || found.contains(c.get()); });
    if (has) found.insert(e.get());
  });
  return found;
}

Result<Module> to_graph_normal_form(const Module& module, PassContext&) {
  Effects effects(module);
  return for_each_function(module, [&](const FunctionRef& f) {
    effects.look_at(f);
    NodeSet references = reference_nodes(f);
    NodeMap<std::vector<const ExprNode*>> vars_of;  // a value -> the variables that it replaces
    NodeSet replaced;
    visit(f, [&](const Expr& e) {
      const Let* let = as<Let>(e);
      if (!let || references.contains(let->value.get()) || effects.has_effect(let->value)) return;
      if (let->value->kind == ExprKind::Function) return;  // closures keep their name; it is what recursion refers to
      vars_of[let->value.get()].push_back(let->var.get());
      replaced.insert(let->var.get());
    });
    NodeMap<Expr> values;
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
  });
}

}  // namespace relay::transform
