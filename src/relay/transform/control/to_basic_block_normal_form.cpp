// to_basic_block_normal_form: names exactly the values that an inner scope uses.
//
//   %0 = exp(%x);                          let %v0 = exp(%x);
//   if (%c) { add(%0, %0) }      becomes   if (%c) { add(%v0, %v0) }
//   else { tanh(exp(%0)) }                 else { tanh(exp(%v0)) }
//
// Branches, clauses and bodies of functions are the scopes; inside of one, values remain shared nodes. Values that only
// inner scopes use are computed in each of them. The pass is to_a_normal_form without the names that are used only in
// their own scope.
#include "relay/transform/control/to_a_normal_form.h"
#include "relay/transform/control/to_graph_normal_form.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/pass.h"
#include "relay/typing/typing.h"

namespace relay::transform {

using namespace ir;

// Let-bound variables that are used in another scope than that of their let.
static NodeSet used_in_inner_scopes(const FunctionRef& f) {
  const Dataflow flow(f);
  NodeMap<int> bound;
  for (int i = 0; i < flow.size(); ++i)
    if (const Let* let = as<Let>(flow.nodes[static_cast<size_t>(i)]))
      bound[let->var.get()] = flow.scopes[static_cast<size_t>(i)];
  NodeSet out;
  for (int i = 0; i < flow.size(); ++i) {
    const Expr& e = flow.nodes[static_cast<size_t>(i)];
    size_t child_index = 0;
    for_each_open_child(e, [&](const Expr& child) {
      const bool opens =
          e->kind == ExprKind::Function || ((e->kind == ExprKind::If || e->kind == ExprKind::Match) && child_index > 0);
      ++child_index;
      const int* scope = child->kind == ExprKind::Var ? bound.find(child.get()) : nullptr;
      if (scope && (opens || flow.scopes[static_cast<size_t>(i)] != *scope)) out.insert(child.get());
    });
  }
  return out;
}

Result<Module> to_basic_block_normal_form(const Module& module, PassContext&) {
  RELAY_ASSIGN(Module named, for_each_function(module, [](const FunctionRef& f) { return a_normal_form(f); }));
  RELAY_ASSIGN(named, typing::infer(named));
  Effects effects(named);
  return for_each_function(named, [&](const FunctionRef& f) {
    if (is_closed(f)) return f;
    effects.look_at(f);
    return inline_lets(f, effects, used_in_inner_scopes(f));
  });
}

}  // namespace relay::transform
