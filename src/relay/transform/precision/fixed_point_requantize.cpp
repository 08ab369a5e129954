// fixed_point_requantize: requantises in integers instead of floats, as processors without floats do.
//
//   qnn.requantize(%x, s, 0, 1f, z, compute_dtype="float32", rounding="TONEAREST")
//     becomes   qnn.requantize(%x, s, 0, 1f, z, compute_dtype="int64", rounding="UPWARD")
//
// Results differ by at most one, where the factor's 31 bits or a half are rounded otherwise.
#include "relay/ir/rewrite.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

Result<Module> fixed_point_requantize(const Module& module, PassContext& context) {
  return for_each_function(module, [&](const FunctionRef& f) {
    return rewrite_function(f, context, [](const Expr&, const Expr& now) -> Expr {
      const Call* requantize = call_of(now, "qnn.requantize");
      if (!requantize) return now;
      return call(requantize->callee, requantize->args,
                  with_attributes(*requantize, {{"compute_dtype", std::string("int64")}, {"rounding", std::string("UPWARD")}}),
                  now->span);
    });
  });
}

}  // namespace relay::transform
