// nn.prelu: out[.., c, ..] = data[.., c, ..] > 0 ? data[.., c, ..] : alpha[c] * data[.., c, ..]
#include "relay/op/gradient.h"

namespace relay::ops {
namespace prelu_cpp {
namespace {

struct PReluAttrs {
  int64_t axis = 1;
  static constexpr auto fields =
      std::tuple{field("axis", &PReluAttrs::axis, "The axis of data that alpha runs along.")};
};

Result<Type> infer(const PReluAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* alpha, tensor_input(in, 1, "alpha"));
  // (C1) alpha has one axis; the axis of data exists.
  RELAY_RETURN_IF_ERROR(expect_rank("C1", alpha, 1, "alpha"));
  RELAY_ASSIGN(int64_t axis, normal_axis("C1", a.axis, rank(data)));
  // (C2) Both have one element type.
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", data, "data", alpha, "alpha"));
  // (C3) alpha has one value for each index of the axis, or one for all.
  const Dim& extent = data->shape[static_cast<size_t>(axis)];
  if (!scalar::is_int(alpha->shape[0], 1) && !agree(extent, alpha->shape[0]))
    return constraint("C3", "alpha has {} values, but axis {} of data {} has {}", scalar::str(alpha->shape[0]), axis,
                      text(data->shape), scalar::str(extent));
  return in[0];
}

te::Tensors compute(const PReluAttrs& a, const te::Tensors& in, const Type&) {
  size_t axis = static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(in[0]->shape.size())));
  bool one = scalar::is_int(in[1]->shape[0], 1);
  return {elementwise("prelu", in[0], [&](const Exprs& i) {
    Expr x = (*in[0])(i);
    return select(lt(imm(0, x->dtype), x), x, x * (*in[1])({one ? dim(0) : i[axis]}));
  })};
}

// max(x, 0) + alpha min(x, 0), alpha along the axis.
ir::Expr definition(const PReluAttrs& a, const ir::Exprs& in) {
  const ir::Expr &x = in[0], &alpha = in[1];
  const ir::Expr slope =
      scalar::is_int(grad::tensor(alpha).shape[0], 1) ? alpha : grad::along(alpha, a.axis, grad::rank(x));
  return grad::plus(grad::call("nn.relu", {x}),
                    grad::times(slope, grad::negated(grad::call("nn.relu", {grad::negated(x)}))));
}

}  // namespace
}  // namespace prelu_cpp

OpDef nn_prelu() {
  using namespace prelu_cpp;
  return define<PReluAttrs>(
      {.name = "nn.prelu",
       .doc = "Keeps positive values and scales the others by a slope of their channel.",
       .inputs = {{"data", "any shape"}, {"alpha", "(C,), where C is the extent of data along axis, or 1"}},
       .fusion = Fusion::Broadcast,
       .infer = infer,
       .complete = [](const PReluAttrs& a, Types in) { return with_vectors(std::move(in), a.axis); },
       .compute = compute,
       .definition = definition,
       .oracle = "torch.where(data > 0, data, along(alpha, axis, data.ndim) * data)",
       .examples = {{.inputs = {"(2, 5, 3)", "(5,)"}, .symbolic = {"(n, c, 3)", "(c,)"}},
                    {.inputs = {"(2, 3, 4)", "(4,)"}, .attrs = "axis=-1"},
                    {.inputs = {"(2, 3, 4)", "(1,)"}, .symbolic = {"(n, c, m)", "(1,)"}}},
       .rejects = {{{"(2, 5)", "()"}, "", "C1"},
                   {{"(2, 5)", "(5,) float64"}, "", "C2"},
                   {{"(2, 5)", "(2,)"}, "", "C3"}}},
      "PReluAttrs");
}

}  // namespace relay::ops
