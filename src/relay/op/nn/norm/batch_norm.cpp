// nn.batch_norm, in inference: the tuple (out, moving_mean, moving_var) with
//   out = (data - moving_mean[c]) / sqrt(moving_var[c] + epsilon) * gamma[c] + beta[c]
// computed as data * scale[c] + shift[c].
#include "relay/op/composite.h"
#include "relay/op/gradient.h"
#include "relay/op/nn/norm/normalize.h"

namespace relay::ops {
namespace batch_norm_cpp {
namespace {

struct BatchNormAttrs : nn::NormAttrs {
  static constexpr auto fields = nn::norm_fields("The axis of the channels.");
};

Result<Type> infer(const BatchNormAttrs& a, const Types& in) {
  RELAY_RETURN_IF_ERROR(nn::check_normalization(in, a.axis));  // (C1) (C2) (C3)
  return ir::tuple_type({in[0], in[3], in[4]});
}

te::Tensors compute(const BatchNormAttrs& a, const te::Tensors& in, const Type&) {
  const te::Tensor &data = in[0], &gamma = in[1], &beta = in[2], &mean = in[3], &variance = in[4];
  size_t axis = static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(data->shape.size())));
  DType dtype = accumulator(data->dtype);
  te::Tensor scale = elementwise("scale", variance, [&](const Exprs& c) {
    Expr s = unary(UnaryOp::Rsqrt, cast(dtype, (*variance)(c)) + number(a.epsilon, dtype));
    return a.scale ? s * cast(dtype, (*gamma)(c)) : s;
  });
  te::Tensor shift = elementwise("shift", mean, [&](const Exprs& c) {
    Expr s = unary(UnaryOp::Neg, cast(dtype, (*mean)(c)) * (*scale)(c));
    return a.center ? cast(dtype, (*beta)(c)) + s : s;
  });
  te::Tensor out = elementwise("batch_norm", data, [&](const Exprs& i) {
    return cast(data->dtype, cast(dtype, (*data)(i)) * (*scale)({i[axis]}) + (*shift)({i[axis]}));
  });
  auto same = [](const te::Tensor& t) { return elementwise("same", t, [&](const Exprs& i) { return (*t)(i); }); };
  return {out, same(mean), same(variance)};
}

// data * s + (beta - mean * s) with s = gamma * rsqrt(variance + epsilon): s and the shift depend on parameters only.
ir::Expr normalised(const BatchNormAttrs& a, const ir::Exprs& in) {
  const ir::Expr &data = in[0], &mean = in[3], &variance = in[4];
  const int64_t rank = grad::rank(data);
  ir::Expr scale = grad::call("rsqrt", {grad::plus(variance, grad::number(a.epsilon, data))});
  if (a.scale) scale = grad::times(in[1], scale);
  const ir::Expr moved = grad::times(mean, scale), shift = a.center ? grad::minus(in[2], moved) : grad::negated(moved);
  return grad::plus(grad::times(data, grad::along(scale, a.axis, rank)), grad::along(shift, a.axis, rank));
}

ir::Expr definition(const BatchNormAttrs& a, const ir::Exprs& in) {
  auto normal = [&](const ir::Exprs& exact) { return normalised(a, exact); };
  return ir::tuple({defined_exactly(in, normal), in[3], in[4]});
}

}  // namespace
}  // namespace batch_norm_cpp

OpDef nn_batch_norm() {
  using namespace batch_norm_cpp;
  return define<BatchNormAttrs>(
      {.name = "nn.batch_norm",
       .doc = "Normalises channels by given means and variances, then scales and shifts. Returns (result, moving_mean, "
              "moving_var).",
       .inputs = {{"data", "(.., C, ..)"},
                  {"gamma", "(C,)"},
                  {"beta", "(C,)"},
                  {"moving_mean", "(C,)"},
                  {"moving_var", "(C,)"}},
       // Fusion of nn.batch_norm: output fusable in the reference; the statistics are given: an element is made of
       // one element.
       .fusion = Fusion::Broadcast,
       .infer = infer,
       .complete = [](const BatchNormAttrs& a, Types in) { return with_vectors(std::move(in), a.axis); },
       .compute = compute,
       .definition = definition,
       .oracle = "(F.batch_norm(data.movedim(axis, 1), moving_mean, moving_var, gamma if scale else None, beta if "
                 "center else None, eps=epsilon)"
                 ".movedim(1, axis), moving_mean, moving_var)",
       .examples = {{.inputs = {"(2, 3, 4, 5)", "(3,)", "(3,)", "(3,)", "(3,)"},
                     .symbolic = {"(n, 3, h, w)", "(3,)", "(3,)", "(3,)", "(3,)"},
                     .low = 0.1},
                    {.inputs = {"(2, 4, 3)", "(3,)", "(3,)", "(3,)", "(3,)"},
                     .attrs = "axis=-1, epsilon=0.001f, scale=False",
                     .low = 0.1},
                    {.inputs = {"(2, 3)", "(3,)", "(3,)", "(3,)", "(3,)"}, .attrs = "center=False", .low = 0.1}},
       .rejects = {{{"(2, 3)", "(3,)", "(3,)", "(3,)", "(3,)"}, "axis=2", "C1"},
                   {{"(2, 3)", "(3,)", "(3,)", "(3,) float16", "(3,)"}, "", "C2"},
                   {{"(2, 3)", "(3,)", "(3,)", "(3,)", "(4,)"}, "", "C3"}}},
      "BatchNormAttrs");
}

}  // namespace relay::ops
