// nn.mean_abs_norm: out[.., i, ..] = data[.., i, ..] / (mean over i of |data[.., i, ..]| + epsilon) * weight[i]
#include "relay/op/common.h"

namespace relay::ops {
namespace {

struct MeanAbsNormAttrs {
  int64_t axis = -1;
  double epsilon = 1e-5;
  static constexpr auto fields = std::tuple{field("axis", &MeanAbsNormAttrs::axis, "The axis that is normalised."),
                                            field("epsilon", &MeanAbsNormAttrs::epsilon, "Added to the mean.")};
};

Result<Type> infer(const MeanAbsNormAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* weight, tensor_input(in, 1, "weight"));
  // (C1) The axis exists.
  RELAY_ASSIGN(int64_t axis, normal_axis("C1", a.axis, rank(data)));
  // (C2) Both are floats of one type.
  if (!data->dtype.is_float())
    return constraint("C2", "nn.mean_abs_norm needs floats, but data is {}", data->dtype.str());
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", data, "data", weight, "weight"));
  // (C3) The weight has one value for each index of the axis.
  const Dim& extent = data->shape[static_cast<size_t>(axis)];
  RELAY_RETURN_IF_ERROR(expect_rank("C3", weight, 1, "weight"));
  if (!agree(weight->shape[0], extent))
    return constraint("C3", "weight has {} values, but axis {} of data {} has {}", scalar::str(weight->shape[0]), axis,
                      text(data->shape), scalar::str(extent));
  return in[0];
}

te::Tensors compute(const MeanAbsNormAttrs& a, const te::Tensors& in, const Type&) {
  const te::Tensor &data = in[0], &weight = in[1];
  size_t axis = static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(data->shape.size())));
  DType wide = accumulator(data->dtype);  // float32 for the half precisions

  // A mean for each of the other indices.
  Exprs rows = data->shape;
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(axis));
  te::Tensor sums = te::reduce("sums", rows, {data->shape[axis]}, Combiner::Sum, [&](Exprs i, const Exprs& k) {
    i.insert(i.begin() + static_cast<std::ptrdiff_t>(axis), k[0]);
    return unary(UnaryOp::Abs, cast(wide, (*data)(i)));
  });
  Expr count = cast(wide, data->shape[axis]);
  return {elementwise("mean_abs_norm", data, [&](const Exprs& i) {
    Exprs row = i;
    row.erase(row.begin() + static_cast<std::ptrdiff_t>(axis));
    Expr mean = divide((*sums)(row), count) + number(a.epsilon, wide);
    return cast(data->dtype, divide(cast(wide, (*data)(i)), mean) * cast(wide, (*weight)({i[axis]})));
  })};
}

}  // namespace

OpDef nn_mean_abs_norm() {
  return define<MeanAbsNormAttrs>(
      {.name = "nn.mean_abs_norm",
       .doc = "Divides by the mean of the absolute values along one axis, then scales.",
       .inputs = {{"data", "any shape"}, {"weight", "(C,), where C is the extent of data along axis"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .compute = compute,
       .oracle = "data / (data.abs().mean(axis, True) + epsilon) * along(weight, axis, data.ndim)",
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
      "MeanAbsNormAttrs");
}

}  // namespace relay::ops
