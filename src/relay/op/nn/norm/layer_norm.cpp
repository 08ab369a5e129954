// nn.layer_norm: out = (data - mean) / sqrt(variance + epsilon) * gamma + beta, mean and variance over one axis
#include "relay/op/composite.h"
#include "relay/op/nn/norm/normalize.h"

namespace relay::ops {
namespace layer_norm_cpp {
namespace {

struct LayerNormAttrs : nn::NormAttrs {
  LayerNormAttrs() { axis = -1; }
  static constexpr auto fields = nn::norm_fields("The axis that is normalised.");
};

Result<Type> infer(const LayerNormAttrs& a, const Types& in) {
  RELAY_RETURN_IF_ERROR(nn::check_normalization(in, a.axis));  // (C1) (C2) (C3)
  return in[0];
}

te::Tensors compute(const LayerNormAttrs& a, const te::Tensors& in, const Type&) {
  int64_t axis = positive_axis(a.axis, static_cast<int64_t>(in[0]->shape.size()));
  auto scale_at = [axis](const Exprs& i) { return Exprs{i[static_cast<size_t>(axis)]}; };
  return {nn::normalized("layer_norm", in[0], {axis}, a.epsilon, a.scale ? in[1] : te::Tensor(),
                         a.center ? in[2] : te::Tensor(), scale_at)};
}

ir::Expr definition(const LayerNormAttrs& a, const ir::Exprs& in) {
  const int64_t rank = grad::rank(in[0]);
  auto along = [&](const ir::Expr& values) { return grad::along(values, a.axis, rank); };
  return nn::normalization(in[0], {positive_axis(a.axis, rank)}, grad::number(a.epsilon, in[0]),
                           a.scale ? along(in[1]) : ir::Expr(), a.center ? along(in[2]) : ir::Expr());
}

}  // namespace
}  // namespace layer_norm_cpp

OpDef nn_layer_norm() {
  using namespace layer_norm_cpp;
  return define<LayerNormAttrs>(
      {.name = "nn.layer_norm",
       .doc = "Normalises along one axis, then scales and shifts.",
       .inputs = {{"data", "any shape"}, {"gamma", "(C,), where C is the extent of data along axis"}, {"beta", "(C,)"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .complete = [](const LayerNormAttrs& a, Types in) { return with_vectors(std::move(in), a.axis); },
       .compute = compute,
       .definition = exactly<LayerNormAttrs>(definition),
       .oracle = "(data - data.mean(axis, True)) / torch.sqrt(data.var(axis, False, keepdim=True) + epsilon)"
                 " * (along(gamma, axis, data.ndim) if scale else 1) + (along(beta, axis, data.ndim) if center else 0)",
       .examples = {{.inputs = {"(3, 10)", "(10,)", "(10,)"}, .symbolic = {"(n, m)", "(m,)", "(m,)"}},
                    {.inputs = {"(2, 5, 4)", "(5,)", "(5,)"},
                     .attrs = "axis=1, epsilon=0.01f",
                     .symbolic = {"(n, 5, m)", "(5,)", "(5,)"}},
                    {.inputs = {"(2, 3, 8)", "(8,)", "(8,)"}, .attrs = "center=False, scale=False"},
                    {.inputs = {"(128, 768)", "(768,)", "(768,)"}, .bench = true},
                    {.inputs = {"(197, 192)", "(192,)", "(192,)"}, .bench = true},
                    {.inputs = {"(3136, 96)", "(96,)", "(96,)"}, .bench = true}},
       .rejects = {{{"(2, 3)", "(3,)", "(3,)"}, "axis=2", "C1"},
                   {{"(2, 3) int32", "(3,) int32", "(3,) int32"}, "", "C2"},
                   {{"(2, 3)", "(2,)", "(3,)"}, "", "C3"},
                   {{"(2, 3)", "(3,)", "(1, 3)"}, "", "C3"}}},
      "LayerNormAttrs");
}

}  // namespace relay::ops
