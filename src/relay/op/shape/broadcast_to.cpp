// broadcast_to: out[i] = data[i], an axis of extent 1 (or missing in front) read at 0 for every i
#include "relay/op/common.h"

namespace relay::ops {
namespace {

struct BroadcastToAttrs {
  Dims shape;
  OptDType dtype;
  static constexpr auto fields =
      std::tuple{required_field("shape", &BroadcastToAttrs::shape, "The shape of the result."),
                 field("dtype", &BroadcastToAttrs::dtype, "Not used; None.")};
};

// (C1) The shape is what data and it broadcast to.
Result<Type> broadcast(const TensorType* data, const Dims& shape) {
  RELAY_ASSIGN(Dims both, broadcast_shape("C1", data->shape, shape));
  if (!agree(both, shape)) return constraint("C1", "data {} does not broadcast to {}", text(data->shape), text(shape));
  return ir::tensor_type(shape, data->dtype);
}

Result<Type> infer(const BroadcastToAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  return broadcast(data, a.shape);
}

Result<Type> infer_like(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* like, tensor_input(in, 1, "broadcast_type"));
  return broadcast(data, like->shape);
}

te::Tensors stretched(const te::Tensor& data, const Type& out) {
  return {
      te::compute("broadcast_to", shape_of(out), [&](const Exprs& i) { return (*data)(broadcast_indices(data, i)); })};
}

}  // namespace

OpDef broadcast_to() {
  return define<BroadcastToAttrs>(
      {.name = "broadcast_to",
       .doc = "Repeats data along axes of extent 1 to reach a shape.",
       .inputs = {{"data", "a shape that broadcasts to the result's"}},
       .fusion = Fusion::Broadcast,
       .infer = infer,
       .compute = [](const BroadcastToAttrs&, const te::Tensors& in, const Type& out) { return stretched(in[0], out); },
       .oracle = "data.expand(output_shape)",
       .examples = {{.inputs = {"(3, 1)"}, .attrs = "shape=[2, 3, 4]"},
                    {.inputs = {"()"}, .attrs = "shape=[2, 3]"},
                    {.inputs = {"(5,)"}, .attrs = "shape=[2, 5]"}},
       .rejects = {{{"(3,)"}, "shape=[2, 4]", "C1"}, {{"(2, 3)"}, "shape=[3]", "C1"}}},
      "InitOpAttrs");
}

OpDef broadcast_to_like() {
  return define<NoAttrs>(
      {.name = "broadcast_to_like",
       .doc = "Repeats data along axes of extent 1 to reach another tensor's shape.",
       .inputs = {{"data", "a shape that broadcasts to the result's"}, {"broadcast_type", "the result's shape"}},
       .fusion = Fusion::Broadcast,
       .infer = infer_like,
       .compute = [](const NoAttrs&, const te::Tensors& in, const Type& out) { return stretched(in[0], out); },
       .oracle = "data.expand(broadcast_type.shape)",
       .examples = {{.inputs = {"(3, 1)", "(2, 3, 4)"}, .symbolic = {"(n, 1)", "(m, n, 4)"}}},
       .rejects = {{{"(3,)", "(2, 4)"}, "", "C1"}}});
}

}  // namespace relay::ops
