// nn.instance_norm: out = (data - mean) / sqrt(variance + epsilon) * gamma[c] + beta[c], mean and variance over all
// axes but the first and the channels'
#include "relay/op/composite.h"
#include "relay/op/nn/norm/normalize.h"

namespace relay::ops {
namespace instance_norm_cpp {
namespace {

struct InstanceNormAttrs : nn::NormAttrs {
  static constexpr auto fields = nn::norm_fields("The axis of the channels.");
};

Result<Type> infer(const InstanceNormAttrs& a, const Types& in) {
  RELAY_RETURN_IF_ERROR(nn::check_normalization(in, a.axis));  // (C1) (C2) (C3)
  // (C4) The channels are not the batch.
  if (positive_axis(a.axis, rank(as<TensorType>(in[0]))) == 0)
    return constraint("C4", "axis 0 is the batch; the channels must be another axis");
  return in[0];
}

// All axes except the batch and the channels.
Ints normalised_axes(int64_t axis, int64_t rank) {
  Ints axes;
  for (int64_t d = 1; d < rank; ++d)
    if (d != axis) axes.push_back(d);
  return axes;
}

te::Tensors compute(const InstanceNormAttrs& a, const te::Tensors& in, const Type&) {
  const int64_t rank = static_cast<int64_t>(in[0]->shape.size()), axis = positive_axis(a.axis, rank);
  auto scale_at = [axis](const Exprs& i) { return Exprs{i[static_cast<size_t>(axis)]}; };
  return {nn::normalized("instance_norm", in[0], normalised_axes(axis, rank), a.epsilon, a.scale ? in[1] : te::Tensor(),
                         a.center ? in[2] : te::Tensor(), scale_at)};
}

ir::Expr definition(const InstanceNormAttrs& a, const ir::Exprs& in) {
  const int64_t rank = grad::rank(in[0]), axis = positive_axis(a.axis, rank);
  auto along = [&](const ir::Expr& values) { return grad::along(values, axis, rank); };
  return nn::normalization(in[0], normalised_axes(axis, rank), grad::number(a.epsilon, in[0]),
                           a.scale ? along(in[1]) : ir::Expr(), a.center ? along(in[2]) : ir::Expr());
}

}  // namespace
}  // namespace instance_norm_cpp

OpDef nn_instance_norm() {
  using namespace instance_norm_cpp;
  return define<InstanceNormAttrs>(
      {.name = "nn.instance_norm",
       .doc = "Normalises each channel of each batch element, then scales and shifts it.",
       .inputs = {{"data", "(N, .., C, ..)"}, {"gamma", "(C,)"}, {"beta", "(C,)"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .complete = [](const InstanceNormAttrs& a, Types in) { return with_vectors(std::move(in), a.axis); },
       .compute = compute,
       .definition = exactly<InstanceNormAttrs>(definition),
       .oracle = "F.instance_norm(data.movedim(axis, 1), None, None, gamma if scale else None, beta if center else "
                 "None, eps=epsilon).movedim(1, axis)",
       .examples = {{.inputs = {"(2, 3, 4, 5)", "(3,)", "(3,)"}, .symbolic = {"(n, 3, h, w)", "(3,)", "(3,)"}},
                    {.inputs = {"(2, 4, 5, 3)", "(3,)", "(3,)"}, .attrs = "axis=3, scale=False, center=False"},
                    {.inputs = {"(1, 64, 56, 56)", "(64,)", "(64,)"}, .bench = true}},
       .rejects = {{{"(2, 3)", "(3,)", "(3,)"}, "axis=2", "C1"},
                   {{"(2, 3) int32", "(3,) int32", "(3,) int32"}, "", "C2"},
                   {{"(2, 3, 4)", "(2,)", "(3,)"}, "", "C3"},
                   {{"(2, 3, 4)", "(2,)", "(2,)"}, "axis=0", "C4"}}},
      "InstanceNormAttrs");
}

}  // namespace relay::ops
