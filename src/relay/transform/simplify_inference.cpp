// simplify_inference: what only training needs becomes what inference computes: the definition of the operator.
//
//   nn.batch_norm(%x, %gamma, %beta, %mean, %var, epsilon=e).0
//     becomes   %s = gamma * rsqrt(var + e);  %x * %s + (beta - mean * %s)
//     with %s and the rest stretched along the axis
//   nn.dropout(%x).0    becomes   %x
//
// The factors depend on parameters only; with constant parameters fold_constant evaluates them.
#include "relay/ir/rewrite.h"
#include "relay/transform/definition.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

Result<Module> simplify_inference(const Module& module, PassContext&) {
  return for_each_function(module, [](const FunctionRef& f) {
    Expr result = rewrite(f, [](const Expr& before, const Expr& now) -> Expr {
      const TupleGetItem* item = as<TupleGetItem>(now);
      const Call* call = item ? as<Call>(item->tuple) : nullptr;
      const Op* op = call ? as<Op>(call->callee) : nullptr;
      if (!op || (op->name != "nn.batch_norm" && op->name != "nn.dropout")) return now;
      const Expr all = definition_of(*as<Call>(as<TupleGetItem>(before)->tuple), *call);
      return as<Tuple>(all)->elements[static_cast<size_t>(item->index)];
    });
    return FunctionRef(as<Function>(result));
  });
}

}  // namespace relay::transform
