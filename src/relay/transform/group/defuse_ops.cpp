// defuse_ops: undoes fuse_ops: replaces calls of primitive functions by their bodies.
//
//   %0 = fn (%p0: float32, Primitive=1) { exp(add(%p0, 1f)) };  %0(%x)        becomes        exp(add(%x, 1f))
#include "relay/ir/rewrite.h"
#include "relay/transform/copy.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

Result<Module> defuse_ops(const Module& module, PassContext&) {
  return for_each_function(module, [](const FunctionRef& f) {
    Expr result = rewrite(f, [](const Expr& before, const Expr& now) -> Expr {
      const Call* call = as<Call>(now);
      const Function* callee = call ? as<Function>(call->callee) : nullptr;
      if (!callee || !callee->is_primitive()) return now;
      const Types types = types_of(as<Call>(before)->args);
      const Expr body = call_in_place(FunctionRef(callee), call->args, [](size_t) { return true; }, types);
      return body ? body : now;
    });
    return FunctionRef(as<Function>(result));
  });
}

}  // namespace relay::transform
