// dead_code: drops unused let-bound values whose evaluation has no effect.
//
//   let %a = exp(%x); let %b = ref_write(%r, %x); %x        becomes        let %b = ref_write(%r, %x); %x
//
// Effects are writes to references and calls of functions that may have effects. A projection of a tuple expression
// becomes its element: (%a, %b).0 is %a. With option dead_code.inline_once=1, a value without effects that is used once
// is moved to its use. With option dead_code.ignore_impurity=1, unused values are dropped whatever effects they have.
#include "relay/ir/rewrite.h"
#include "relay/transform/control/effects.h"
#include "relay/transform/control/forgotten_sizes.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

// The variables whose values are needed: by the result, by effects, and by other needed values.
static NodeSet live_variables(const Expr& root, const Effects& effects, bool ignore_impurity) {
  NodeSet seen, live;
  NodeMap<const Expr*> values;
  std::vector<const Expr*> work{&root};
  while (!work.empty()) {
    const Expr& e = *work.back();
    work.pop_back();
    if (!seen.insert(e.get())) continue;
    if (const Let* let = as<Let>(e)) {
      work.push_back(&let->body);
      values[let->var.get()] = &let->value;
      if (!ignore_impurity && effects.writes(let->value)) live.insert(let->var.get()), work.push_back(&let->value);
      continue;
    }
    if (e->kind == ExprKind::Var) {
      live.insert(e.get());
      if (const Expr** value = values.find(e.get())) work.push_back(*value);
    }
    for_each_child(e, [&](const Expr& child) { work.push_back(&child); });
  }
  return live;
}

static FunctionRef without_dead_code(const FunctionRef& f, const Effects& effects, bool ignore_impurity) {
  NodeSet live = live_variables(f, effects, ignore_impurity);
  Expr result = rewrite(f, [&](const Expr& before, const Expr& now) -> Expr {
    if (const Let* let = as<Let>(before); let && !live.contains(let->var.get())) return as<Let>(now)->body;
    if (const TupleGetItem* item = as<TupleGetItem>(now))
      if (const Tuple* t = as<Tuple>(item->tuple);
          t && static_cast<size_t>(item->index) < t->elements.size() && !effects.writes(before))
        return t->elements[static_cast<size_t>(item->index)];
    return now;
  });
  return FunctionRef(as<Function>(result));
}

// Moves values that are used once, and not in a function that may be called often, to their uses.
static FunctionRef inlined_once(const FunctionRef& f, Effects& effects) {
  effects.look_at(f);
  NodeSet captured = captured_variables(f);
  std::unordered_map<const ExprNode*, size_t> uses = use_counts(f);
  NodeMap<const ExprNode*> variable_of;  // from values to the variables that they replace
  NodeSet replaced;
  visit(f, [&](const Expr& e) {
    const Let* let = as<Let>(e);
    if (!let || uses[let->var.get()] != 1 || captured.contains(let->var.get())) return;
    if (effects.of(let->value) != Effect::None || uses[let->value.get()] != 1 || needs_annotation(*let)) return;
    variable_of[let->value.get()] = let->var.get();
    replaced.insert(let->var.get());
  });
  NodeMap<Expr> values;
  Expr result = rewrite(f, [&](const Expr& before, const Expr& now) -> Expr {
    Expr r = now;
    if (const Expr* value = values.find(before.get())) r = *value;
    if (const Let* let = as<Let>(before); let && replaced.contains(let->var.get())) r = as<Let>(now)->body;
    if (const ExprNode** variable = variable_of.find(before.get())) values[*variable] = r;
    return r;
  });
  return FunctionRef(as<Function>(result));
}

Result<Module> dead_code(const Module& module, PassContext& context) {
  Effects effects(module);
  bool inline_once = context.flag("dead_code.inline_once");
  bool ignore_impurity = context.flag("dead_code.ignore_impurity");
  return for_each_function(module, [&](const FunctionRef& f) {
    effects.look_at(f);
    FunctionRef live = without_dead_code(f, effects, ignore_impurity);
    return inline_once ? inlined_once(live, effects) : live;
  });
}

}  // namespace relay::transform
