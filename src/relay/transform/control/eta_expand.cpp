// eta_expand: replaces a global function or a constructor that is used as a value by a function that calls it.
//
//   def @main() -> fn (float32) -> float32 { @f }
//     becomes   def @main() -> fn (float32) -> float32 { fn (%x0: float32) -> float32 { @f(%x0) } }
//   @map(Some, %xs)                                 becomes   @map(fn (%x0: int32) -> Option[int32] { Some(%x0) }, %xs)
//
// Options eta_expand.global_var and eta_expand.constructor, 1 by default, leave that kind unchanged if 0. A callee is
// not a value.
#include "relay/ir/rewrite.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

static Expr expanded(const Expr& callee) {
  const FuncType* type = as<FuncType>(callee->type);
  if (!type || type->args.empty()) return callee;
  std::vector<VarRef> params;
  Exprs args;
  for (const Type& t : type->args) {
    params.push_back(var(format("x{}", params.size()), t, callee->span));
    args.push_back(params.back());
  }
  return function(std::move(params), call(callee, std::move(args), {}, callee->span), type->result, type->type_vars, {},
                  callee->span);
}

Result<Module> eta_expand(const Module& module, PassContext& context) {
  bool globals = context.flag("eta_expand.global_var");
  bool constructors = context.flag("eta_expand.constructor");
  return for_each_function(module, [&](const FunctionRef& f) {
    Expr result = rewrite(f, [&](const Expr& before, const Expr& now) -> Expr {
      Exprs children;
      bool changed = false, is_callee = before->kind == ExprKind::Call;
      for_each_child(now, [&](const Expr& child) {
        bool expand =
            (globals && child->kind == ExprKind::GlobalVar) || (constructors && child->kind == ExprKind::Constructor);
        children.push_back(expand && !is_callee ? expanded(child) : child);
        changed = changed || !(children.back() == child);
        is_callee = false;
      });
      return changed ? with_children(now, children) : now;
    });
    return FunctionRef(as<Function>(result));
  });
}

}  // namespace relay::transform
