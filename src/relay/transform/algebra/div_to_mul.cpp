// div_to_mul: replaces a division of floats by a constant by a multiplication with its reciprocal.
//
//   divide(%x, 4f)    becomes    multiply(%x, 0.25f)
//
// The reciprocal is rounded, so results may differ in the last place. A divisor stays if it contains a zero, or a
// number whose reciprocal is beyond the type.
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/transform/attributes.h"
#include "relay/transform/full_precision.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

static Expr multiplied(const Expr& e) {
  const Call* call = call_of(e, "divide");
  const Constant* divisor = call ? as<Constant>(call->args[1]) : nullptr;
  if (!divisor || !divisor->value.dtype().is_float()) return e;
  const Tensor& d = divisor->value;
  Tensor reciprocal = Tensor::empty(d.shape(), d.dtype());
  for (int64_t i = 0; i < d.elements(); ++i) {
    reciprocal.set(i, 1 / d.at(i));
    if (!has_full_precision(d.dtype(), d.at(i)) || !has_full_precision(d.dtype(), reciprocal.at(i))) return e;
  }
  return op::make("multiply", {call->args[0], constant(reciprocal, divisor->span)}, {}, e->span);
}

Result<Module> div_to_mul(const Module& module, PassContext& context) {
  return for_each_function(module, [&](const FunctionRef& f) {
    return rewrite_function(f, context, [](const Expr&, const Expr& now) { return multiplied(now); });
  });
}

}  // namespace relay::transform
