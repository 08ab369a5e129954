// nn.leaky_relu: out[i] = data[i] > 0 ? data[i] : alpha * data[i]
#include "relay/op/gradient.h"

namespace relay::ops {
namespace leaky_relu_cpp {
namespace {

struct LeakyReluAttrs {
  double alpha = 0.25;
  static constexpr auto fields = std::tuple{field("alpha", &LeakyReluAttrs::alpha, "The slope for negative values.")};
};

// (C1) The elements are floats.
Result<Type> infer(const LeakyReluAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  if (!data->dtype.is_float()) return constraint("C1", "nn.leaky_relu needs floats, but data is {}", data->dtype.str());
  return in[0];
}

te::Tensors compute(const LeakyReluAttrs& a, const te::Tensors& in, const Type&) {
  return {elementwise("leaky_relu", in[0], [&](const Exprs& i) {
    Expr x = (*in[0])(i);
    return select(lt(imm(0, x->dtype), x), x, x * number(a.alpha, x->dtype));
  })};
}

ir::Exprs gradient(const LeakyReluAttrs& a, const Adjoint& of) {
  const ir::Expr &x = of.inputs[0], &dy = of.gradient;
  return {grad::call("where",
                     {grad::call("greater", {x, grad::number(0, x)}), dy, grad::times(dy, grad::number(a.alpha, x))})};
}

}  // namespace
}  // namespace leaky_relu_cpp

OpDef nn_leaky_relu() {
  using namespace leaky_relu_cpp;
  return define<LeakyReluAttrs>(
      {.name = "nn.leaky_relu",
       .doc = "Keeps positive values and scales the others.",
       .inputs = {{"data", "any shape"}},
       .fusion = Fusion::Elementwise,
       .infer = infer,
       .compute = compute,
       .gradient = gradient,
       .oracle = "F.leaky_relu(data, alpha)",
       .examples = {{.inputs = {"(3, 5, 7)"}, .symbolic = {"(n, 5, m)"}}, {.inputs = {"(4,)"}, .attrs = "alpha=0.1f"}},
       .rejects = {{{"(2,) int32"}, "", "C1"}}},
      "LeakyReluAttrs");
}

}  // namespace relay::ops
