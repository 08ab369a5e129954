// shorten_weights: stores float32 weights of products in 16 bits. The products still compute in float32: their kernels
// convert the weights in registers (narrow_weights.h).
//
//   nn.dense(%x, W)    becomes    nn.dense(%x, cast(W: Tensor[(768, 3072), float16], dtype="float32"))
//
// The type is float16, whose relative rounding error is 2^-12, if the largest weight is in its range and not small;
// else bfloat16, whose error is 2^-9. A product of few rows takes the time that reading its weight takes, which halves.
// Weights of convolutions stay: their kernels are bound by arithmetic.
#include <algorithm>
#include <cmath>

#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"
#include "relay/transform/typed.h"

namespace relay::transform {

using namespace ir;

namespace {

// The least normal number, and the greatest finite one.
constexpr float least_float16 = 0x1p-14F, greatest_float16 = 65504;

// Weights below the least normal number lose digits. Their error is below that of the largest weight, if that is at
// least 2^8 times as large.
DType short_type(const Tensor& weight) {
  float greatest = 0;
  for (float x : weight.span<float>()) {
    if (!std::isfinite(x)) return DType::bfloat16();
    greatest = std::max(greatest, std::abs(x));
  }
  return greatest <= greatest_float16 && greatest >= 0x1p8F * least_float16 ? DType::float16() : DType::bfloat16();
}

bool is_weight(const Expr& e) {
  const Constant* c = as<Constant>(e);
  return c && c->value.dtype() == DType::float32() && c->value.rank() >= 2;
}

class Shortener {
 public:
  Expr operator()(const Expr& now) {
    const Call* call = call_of(now, "nn.dense");
    if (!call) call = call_of(now, "nn.matmul");
    if (!call) call = call_of(now, "nn.batch_matmul");
    if (!call || is_weight(call->args[0]) == is_weight(call->args[1])) return now;
    Exprs children{call->callee};
    for (const Expr& arg : call->args) children.push_back(is_weight(arg) ? shortened(arg) : arg);
    return with_children(now, children);
  }

 private:
  // The constant with shorter elements, and its conversion: once for all products that read it.
  Expr shortened(const Expr& weight) {
    Expr& made = made_[weight.get()];
    if (made) return made;
    const Tensor& value = as<Constant>(weight)->value;
    Tensor short_value = Tensor::empty(value.shape(), short_type(value));
    const std::span<const float> values = value.span<float>();
    for (int64_t i = 0; i < value.elements(); ++i) short_value.set(i, values[static_cast<size_t>(i)]);
    const Expr stored = constant(short_value, weight->span);
    stored->type = tensor_type(as<TensorType>(weight->type)->shape, short_value.dtype());
    return made = typed_call("cast", {stored}, {{"dtype", DType::float32()}}, weight->span);
  }

  NodeMap<Expr> made_;
};

}  // namespace

Result<Module> shorten_weights(const Module& module, PassContext& context) {
  Shortener shorten;
  return for_each_function(module, [&](const FunctionRef& f) {
    return rewrite_function(f, context, [&](const Expr&, const Expr& now) { return shorten(now); });
  });
}

}  // namespace relay::transform
