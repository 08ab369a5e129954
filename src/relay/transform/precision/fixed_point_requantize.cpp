// fixed_point_requantize: computes requantisation and sums of quantised values in fixed point, as processors without
// floats do.
//
//   qnn.requantize(%x, s, 0, 1f, z, compute_dtype="float32", rounding="TONEAREST")
//     becomes   qnn.requantize(%x, s, 0, 1f, z, compute_dtype="int64", rounding="UPWARD")
//
//   qnn.quantize(nn.relu(add(qnn.dequantize(%a, s, z), qnn.dequantize(%b, t, u))), v, w)
//     becomes   maximum(qnn.add(%a, %b, s, z, t, u, v, w), w)
//
// A maximum pool between an addition and its qnn.dequantize is computed on integers as well. Results differ by one
// where a factor's 31 bits or halves are rounded otherwise, and by at most two for sums, whose operands are rounded one
// by one.
#include "relay/ir/rewrite.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"
#include "relay/transform/typed.h"

namespace relay::transform {

using namespace ir;

namespace {

bool is_scalar(const Expr& e) {
  const TensorType* t = as<TensorType>(e->type);
  return t && t->shape.empty();
}

// Integers with one scale and zero point.
struct Dequantised {
  Expr value, scale, zero_point;
};

std::optional<Dequantised> dequantised(const Expr& e) {
  if (const Call* pool = call_of(e, "nn.max_pool2d")) {
    std::optional<Dequantised> below = dequantised(pool->args[0]);
    if (below) below->value = try_call(pool->callee, {below->value}, pool->attrs, e->span);
    return below && below->value ? below : std::nullopt;
  }
  const Call* call = call_of(e, "qnn.dequantize");
  if (!call || attribute<int64_t>(*call, "block", 0) != 0 || !is_scalar(call->args[1]) || !is_scalar(call->args[2]))
    return std::nullopt;
  return Dequantised{call->args[0], call->args[1], call->args[2]};
}

Expr integer_sum(const Expr& now) {
  const Call* quantize = call_of(now, "qnn.quantize");
  if (!quantize || !is_scalar(quantize->args[1]) || !is_scalar(quantize->args[2])) return now;
  const Call *relu = call_of(quantize->args[0], "nn.relu"),
             *add = call_of(relu ? relu->args[0] : quantize->args[0], "add");
  if (!add) return now;
  const std::optional<Dequantised> x = dequantised(add->args[0]), y = dequantised(add->args[1]);
  const Expr &scale = quantize->args[1], &zero = quantize->args[2];
  if (!x || !y) return now;
  const DType dtype = as<TensorType>(now->type)->dtype;
  for (const Expr* side : {&x->value, &y->value})
    if (as<TensorType>((*side)->type)->dtype != dtype) return now;
  const Expr sum = typed_call(
      "qnn.add", {x->value, y->value, x->scale, x->zero_point, y->scale, y->zero_point, scale, zero}, {}, now->span);
  if (!relu) return sum;
  return typed_call("maximum", {sum, typed_call("cast", {zero}, {{"dtype", dtype}}, zero->span)}, {}, relu->span);
}

}  // namespace

Result<Module> fixed_point_requantize(const Module& module, PassContext& context) {
  return for_each_function(module, [&](const FunctionRef& f) {
    return rewrite_function(f, context, [](const Expr&, const Expr& now) -> Expr {
      const Call* requantize = call_of(now, "qnn.requantize");
      if (!requantize) return integer_sum(now);
      const Attrs attrs =
          with_attributes(*requantize, {{"compute_dtype", std::string("int64")}, {"rounding", std::string("UPWARD")}});
      return try_call(requantize->callee, requantize->args, attrs, now->span);
    });
  });
}

}  // namespace relay::transform
