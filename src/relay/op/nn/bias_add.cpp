// nn.bias_add: out[.., c, ..] = data[.., c, ..] + bias[c]
#include "relay/op/gradient.h"

namespace relay::ops {
namespace bias_add_cpp {
namespace {

struct BiasAddAttrs {
  int64_t axis = 1;
  static constexpr auto fields =
      std::tuple{field("axis", &BiasAddAttrs::axis, "The axis of data that bias runs along.")};
};

Result<Type> infer(const BiasAddAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* bias, tensor_input(in, 1, "bias"));
  // (C1) bias has one axis; the axis of data exists.
  RELAY_RETURN_IF_ERROR(expect_rank("C1", bias, 1, "bias"));
  RELAY_ASSIGN(int64_t axis, normal_axis("C1", a.axis, rank(data)));
  // (C2) Both have one element type.
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", data, "data", bias, "bias"));
  // (C3) bias has one value for each index of the axis.
  const Dim& extent = data->shape[static_cast<size_t>(axis)];
  if (!agree(extent, bias->shape[0]))
    return constraint("C3", "bias has {} values, but axis {} of data {} has {}", scalar::str(bias->shape[0]), axis,
                      text(data->shape), scalar::str(extent));
  return in[0];
}

te::Tensors compute(const BiasAddAttrs& a, const te::Tensors& in, const Type&) {
  size_t axis = static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(in[0]->shape.size())));
  return {elementwise("bias_add", in[0], [&](const Exprs& i) { return (*in[0])(i) + (*in[1])({i[axis]}); })};
}

ir::Expr definition(const BiasAddAttrs& a, const ir::Exprs& in) {
  return grad::plus(in[0], grad::along(in[1], a.axis, grad::rank(in[0])));
}

}  // namespace
}  // namespace bias_add_cpp

OpDef nn_bias_add() {
  using namespace bias_add_cpp;
  return define<BiasAddAttrs>(
      {.name = "nn.bias_add",
       .doc = "Adds one value per channel.",
       .inputs = {{"data", "any shape"}, {"bias", "(C,), where C is the extent of data along axis"}},
       .fusion = Fusion::Broadcast,
       .infer = infer,
       .complete = [](const BiasAddAttrs& a, Types in) { return with_vectors(std::move(in), a.axis); },
       .compute = compute,
       .definition = definition,
       .oracle = "data + along(bias, axis, data.ndim)",
       .examples = {{.inputs = {"(2, 5, 3)", "(5,)"}, .symbolic = {"(n, c, 3)", "(c,)"}},
                    {.inputs = {"(2, 5, 3)", "(3,)"}, .attrs = "axis=-1", .symbolic = {"(n, m, 3)", "(3,)"}}},
       .rejects = {{{"(2, 5)", "(5, 1)"}, "", "C1"},
                   {{"(5,)", "(5,)"}, "", "C1"},
                   {{"(2, 5)", "(5,) int32"}, "", "C2"},
                   {{"(2, 5)", "(2,)"}, "", "C3"}}},
      "BiasAddAttrs");
}

}  // namespace relay::ops
