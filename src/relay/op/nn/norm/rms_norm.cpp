// nn.rms_norm: out[.., i, ..] = data[.., i, ..] / sqrt(mean over i of data[.., i, ..]^2 + epsilon) * weight[i]
//
// Zhang and Sennrich, Root mean square layer normalization, 2019.
#include "relay/op/composite.h"

namespace relay::ops {
namespace rms_norm_cpp {
namespace {

struct RmsNormAttrs {
  int64_t axis = -1;
  double epsilon = 1e-5;
  static constexpr auto fields = std::tuple{field("axis", &RmsNormAttrs::axis, "The axis that is normalised."),
                                            field("epsilon", &RmsNormAttrs::epsilon, "Added to the mean square.")};
};

Result<Type> infer(const RmsNormAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* weight, tensor_input(in, 1, "weight"));
  // (C1) The axis exists.
  RELAY_ASSIGN(int64_t axis, normal_axis("C1", a.axis, rank(data)));
  // (C2) Both are floats of one type.
  if (!data->dtype.is_float()) return constraint("C2", "nn.rms_norm needs floats, but data is {}", data->dtype.str());
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", data, "data", weight, "weight"));
  // (C3) The weight has one value for each index of the axis.
  const Dim& extent = data->shape[static_cast<size_t>(axis)];
  RELAY_RETURN_IF_ERROR(expect_rank("C3", weight, 1, "weight"));
  if (!agree(weight->shape[0], extent))
    return constraint("C3", "weight has {} values, but axis {} of data {} has {}", scalar::str(weight->shape[0]), axis,
                      text(data->shape), scalar::str(extent));
  return in[0];
}

te::Tensors compute(const RmsNormAttrs& a, const te::Tensors& in, const Type&) {
  const te::Tensor &data = in[0], &weight = in[1];
  const size_t axis = static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(data->shape.size())));
  const DType wide = accumulator(data->dtype);
  auto without_axis = [axis](Exprs i) {
    i.erase(i.begin() + static_cast<std::ptrdiff_t>(axis));
    return i;
  };
  te::Tensor squares = te::reduce("squares", without_axis(data->shape), {data->shape[axis]}, Combiner::Sum,
                                  [&](Exprs i, const Exprs& k) {
                                    i.insert(i.begin() + static_cast<std::ptrdiff_t>(axis), k[0]);
                                    Expr x = cast(wide, (*data)(i));
                                    return x * x;
                                  });
  te::Tensor scales = elementwise("scales", squares, [&](const Exprs& i) {
    return unary(UnaryOp::Rsqrt, divide((*squares)(i), cast(wide, data->shape[axis])) + number(a.epsilon, wide));
  });
  return {elementwise("rms_norm", data, [&](const Exprs& i) {
    Expr scaled = cast(wide, (*data)(i)) * (*scales)(without_axis(i));
    return cast(data->dtype, scaled * cast(wide, (*weight)({i[axis]})));
  })};
}

ir::Expr definition(const RmsNormAttrs& a, const ir::Exprs& in) {
  const ir::Expr squares =
      grad::call("mean", {grad::times(in[0], in[0])}, {{"axis", Ints{a.axis}}, {"keepdims", true}});
  const ir::Expr scale = grad::call("rsqrt", {grad::plus(squares, grad::number(a.epsilon, in[0]))});
  return grad::times(grad::times(in[0], scale), grad::along(in[1], a.axis, grad::rank(in[0])));
}

}  // namespace
}  // namespace rms_norm_cpp

OpDef nn_rms_norm() {
  using namespace rms_norm_cpp;
  return define<RmsNormAttrs>(
      {.name = "nn.rms_norm",
       .doc = "Divides by the root of the mean square along one axis, then scales.",
       .inputs = {{"data", "any shape"}, {"weight", "(C,), where C is the extent of data along axis"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .complete = [](const RmsNormAttrs& a, Types in) { return with_vectors(std::move(in), a.axis); },
       .compute = compute,
       .definition = exactly<RmsNormAttrs>(definition),
       .is_extension = true,
       .oracle = "data * torch.rsqrt((data * data).mean(axis, True) + epsilon) * along(weight, axis, data.ndim)",
       .examples = {{.inputs = {"(3, 10)", "(10,)"}, .symbolic = {"(n, m)", "(m,)"}},
                    {.inputs = {"(2, 5, 4)", "(5,)"},
                     .attrs = "axis=1, epsilon=0.01f",
                     .symbolic = {"(n, 5, m)", "(5,)"}},
                    {.inputs = {"(128, 768)", "(768,)"}, .bench = true}},
       .rejects = {{{"(2, 3)", "(3,)"}, "axis=2", "C1"},
                   {{"(2, 3) int32", "(3,) int32"}, "", "C2"},
                   {{"(2, 3)", "(3,) float64"}, "", "C2"},
                   {{"(2, 3)", "(1, 3)"}, "", "C3"},
                   {{"(2, 3)", "(2,)"}, "", "C3"}}},
      "RmsNormAttrs");
}

}  // namespace relay::ops
