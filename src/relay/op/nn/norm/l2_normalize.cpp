// nn.l2_normalize: out = data / sqrt(max(sum over axis of data^2, eps))
#include "relay/op/composite.h"
#include "relay/op/reduce/axes.h"

namespace relay::ops {
namespace l2_normalize_cpp {
namespace {

struct L2NormalizeAttrs {
  double eps = 0;
  Ints axis;
  static constexpr auto fields =
      std::tuple{required_field("eps", &L2NormalizeAttrs::eps, "Lower bound of the sum of squares."),
                 field("axis", &L2NormalizeAttrs::axis, "The axes along which the squares are summed; empty: all.")};
};

Result<Type> infer(const L2NormalizeAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The axes exist, each named once.
  RELAY_RETURN_IF_ERROR(reduce::axes("C1", a.axis, false, rank(data)));
  // (C2) The elements are floats.
  if (!data->dtype.is_float())
    return constraint("C2", "nn.l2_normalize needs floats, but data is {}", data->dtype.str());
  return in[0];
}

te::Tensors compute(const L2NormalizeAttrs& a, const te::Tensors& in, const Type&) {
  const te::Tensor& data = in[0];
  const Ints axes = *reduce::axes("", a.axis, false, static_cast<int64_t>(data->shape.size()));
  const DType wide = accumulator(data->dtype);
  te::Tensor squares = te::reduce("squares", reduce::shape(data->shape, axes, true), extents(data, axes), Combiner::Sum,
                                  [&](const Exprs& i, const Exprs& r) {
                                    Expr x = cast(wide, (*data)(reduce::indices(axes, true, i, r)));
                                    return x * x;
                                  });
  te::Tensor norm = elementwise(
      "norm", squares, [&](const Exprs& i) { return unary(UnaryOp::Sqrt, max((*squares)(i), number(a.eps, wide))); });
  return {elementwise("l2_normalize", data, [&](const Exprs& i) {
    Exprs at = i;
    for (int64_t axis : axes) at[static_cast<size_t>(axis)] = dim(0);
    return cast(data->dtype, divide(cast(wide, (*data)(i)), (*norm)(at)));
  })};
}

ir::Expr definition(const L2NormalizeAttrs& a, const ir::Exprs& in) {
  const ir::Expr& data = in[0];
  const ir::Expr squares = grad::call("sum", {grad::times(data, data)}, {{"axis", a.axis}, {"keepdims", true}});
  return grad::over(data, grad::call("sqrt", {grad::call("maximum", {squares, grad::number(a.eps, data)})}));
}

}  // namespace
}  // namespace l2_normalize_cpp

OpDef nn_l2_normalize() {
  using namespace l2_normalize_cpp;
  return define<L2NormalizeAttrs>(
      {.name = "nn.l2_normalize",
       .doc = "Divides by the Euclidean norm along some axes.",
       .inputs = {{"data", "any shape"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .compute = compute,
       .definition = exactly<L2NormalizeAttrs>(definition),
       .oracle = "data / reduced(torch.sum, data * data, axis, True, False).clamp(min=eps).sqrt()",
       .examples = {{.inputs = {"(3, 10)"}, .attrs = "eps=0.001f, axis=[1]", .symbolic = {"(n, m)"}},
                    {.inputs = {"(2, 3, 4, 5)"}, .attrs = "eps=0.5f, axis=[1, -1]", .symbolic = {"(n, 3, h, w)"}},
                    {.inputs = {"(2, 3)"}, .attrs = "eps=0f"}},
       .rejects = {{{"(2, 3)"}, "eps=0f, axis=[2]", "C1"}, {{"(2, 3) int32"}, "eps=0f", "C2"}}},
      "L2NormalizeAttrs");
}

}  // namespace relay::ops
