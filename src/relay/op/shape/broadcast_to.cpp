// broadcast_to: out[i] = data[i], an axis of extent 1 (or missing in front) read at 0 for every i
#include "relay/op/gradient.h"

namespace relay::ops {
namespace broadcast_to_cpp {
namespace {

struct BroadcastToAttrs {
  Dims shape;
  OptDType dtype;
  static constexpr auto fields =
      std::tuple{required_field("shape", &BroadcastToAttrs::shape, "The shape of the result."),
                 field("dtype", &BroadcastToAttrs::dtype, "Not used; None.")};
};

// (C1) data and the shape broadcast to the shape.
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

// The shape is a list of integers of known length.
Result<Type> infer_dynamic(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(size_t rank, shape_input("C1", in, 1, "shape"));
  // (C2) The result has at least as many axes as data.
  if (rank < data->shape.size()) return constraint("C2", "data has {} axes, the shape {}", data->shape.size(), rank);
  return ir::tensor_type(Dims(rank, scalar::any_dim()), data->dtype);
}

// Sizes are -1 if data does not broadcast to them.
te::Tensor dynamic_shape(const NoAttrs&, const te::Tensors& in) {
  te::Tensor wanted = converted(in[1], DType::int64());
  size_t rank = static_cast<size_t>(wanted->shape[0]->ivalue), first = rank - in[0]->shape.size();
  return te::compute("shape", wanted->shape, [&](const Exprs& i) {
    Expr fits = imm(1, DType::boolean());
    for (size_t d = first; d < rank; ++d) {
      const Expr& have = in[0]->shape[d - first];
      if (scalar::is_int(have, 1)) continue;
      Expr same = eq(have, (*wanted)({dim(static_cast<int64_t>(d))}));
      if (!scalar::is_int(have)) same = logical_or(same, eq(have, dim(1)));
      fits = logical_and(fits, same);
    }
    return select(fits, (*wanted)({i[0]}), dim(-1));
  });
}

te::Tensors stretched(const te::Tensor& data, const Type& out) {
  return {
      te::compute("broadcast_to", shape_of(out), [&](const Exprs& i) { return (*data)(broadcast_indices(data, i)); })};
}

// An unknown size may be 1: then every index reads the only element.
te::Tensors stretched_dynamically(const NoAttrs&, const te::Tensors& in, const Type& out) {
  const te::Tensor& data = in[0];
  return {te::compute("broadcast_to", shape_of(out), [&](const Exprs& i) {
    Exprs indices = broadcast_indices(data, i);
    for (size_t d = 0; d < indices.size(); ++d)
      if (const Expr& have = data->shape[d]; !scalar::is_int(have)) indices[d] = min(indices[d], have - 1);
    return (*data)(indices);
  })};
}

template <class A>
ir::Exprs gradient(const A&, const Adjoint& of) {
  ir::Exprs gradients(of.inputs.size());
  gradients[0] = grad::call("collapse_sum_like", {of.gradient, of.inputs[0]});
  return gradients;
}

}  // namespace
}  // namespace broadcast_to_cpp

OpDef broadcast_to() {
  using namespace broadcast_to_cpp;
  return define<BroadcastToAttrs>(
      {.name = "broadcast_to",
       .doc = "Broadcasts data to a shape.",
       .inputs = {{"data", "any tensor that broadcasts to the shape of the result"}},
       .fusion = Fusion::Broadcast,
       .infer = infer,
       .compute = [](const BroadcastToAttrs&, const te::Tensors& in, const Type& out) { return stretched(in[0], out); },
       .gradient = gradient<BroadcastToAttrs>,
       .accepts_storage_types = true,
       .oracle = "data.expand(output_shape)",
       .examples = {{.inputs = {"(3, 1)"}, .attrs = "shape=[2, 3, 4]"},
                    {.inputs = {"()"}, .attrs = "shape=[2, 3]"},
                    {.inputs = {"(5,)"}, .attrs = "shape=[2, 5]"}},
       .rejects = {{{"(3,)"}, "shape=[2, 4]", "C1"}, {{"(2, 3)"}, "shape=[3]", "C1"}}},
      "InitOpAttrs");
}

OpDef broadcast_to_like() {
  using namespace broadcast_to_cpp;
  return define<NoAttrs>(
      {.name = "broadcast_to_like",
       .doc = "Broadcasts data to the shape of another tensor.",
       .inputs = {{"data", "any tensor that broadcasts to the shape of the result"},
                  {"broadcast_type", "a tensor with the shape of the result"}},
       .fusion = Fusion::Broadcast,
       .infer = infer_like,
       .compute = [](const NoAttrs&, const te::Tensors& in, const Type& out) { return stretched(in[0], out); },
       .gradient = gradient<NoAttrs>,
       .accepts_storage_types = true,
       .oracle = "data.expand(broadcast_type.shape)",
       .examples = {{.inputs = {"(3, 1)", "(2, 3, 4)"}, .symbolic = {"(n, 1)", "(m, n, 4)"}}},
       .rejects = {{{"(3,)", "(2, 4)"}, "", "C1"}}});
}

OpDef dyn_broadcast_to() {
  using namespace broadcast_to_cpp;
  return define<NoAttrs>(
      {.name = "dyn.broadcast_to",
       .doc = "Broadcasts data to a shape that is computed at run time.",
       .inputs = {{"data", "any tensor that broadcasts to the shape of the result"},
                  {"shape", "(rank,) non-negative integers: the shape of the result, to which data broadcasts"}},
       // Fusion of dyn.broadcast_to: broadcast in the reference; its size is computed before it, so that it could
       // share a kernel with what follows only.
       .fusion = Fusion::Opaque,
       .infer = infer_dynamic,
       .compute = stretched_dynamically,
       .shape = dynamic_shape,
       .gradient = gradient<NoAttrs>,
       .accepts_storage_types = true,
       .oracle = "data.expand([int(n) for n in shape])",
       .examples = {{.inputs = {"(1, 1)", "(3,) int64"}, .low = 0, .high = 4, .ulps = 0},
                    {.inputs = {"()", "(2,) int32"}, .low = 0, .high = 4, .ulps = 0}},
       .rejects = {{{"(2, 3)", "(2,)"}, "", "C1"}, {{"(2, 3)", "(1,) int64"}, "", "C2"}}});
}

}  // namespace relay::ops
