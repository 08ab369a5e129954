// dead_code: a let-bound value that nothing uses is dropped if evaluating it has no effect.
//
//   let %a = exp(%x); let %b = ref_write(%r, %x); %x        becomes        let %b = ref_write(%r, %x); %x
//
// Effects are writes to references and calls of functions that may have them. A projection of a tuple that is written out
// becomes its element: (%a, %b).0 is %a.
#include "relay/ir/rewrite.h"
#include "relay/transform/effects.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

// The variables whose values are needed: those used by the result, by effects, and by values that are needed.
static NodeSet live_variables(const Expr& root, const Effects& effects) {
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
      if (effects.writes(let->value)) live.insert(let->var.get()), work.push_back(&let->value);
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

Result<Module> dead_code(const Module& module, PassContext&) {
  Effects effects(module);
  return for_each_function(module, [&](const FunctionRef& f) {
    effects.look_at(f);
    NodeSet live = live_variables(f, effects);
    Expr result = rewrite(f, [&](const Expr& before, const Expr& now) -> Expr {
      if (const Let* let = as<Let>(before); let && !live.contains(let->var.get())) return as<Let>(now)->body;
      if (const TupleGetItem* item = as<TupleGetItem>(now))
        if (const Tuple* t = as<Tuple>(item->tuple);
            t && static_cast<size_t>(item->index) < t->elements.size() && !effects.writes(before))
          return t->elements[static_cast<size_t>(item->index)];
      return now;
    });
    return FunctionRef(as<Function>(result));
  });
}

}  // namespace relay::transform
