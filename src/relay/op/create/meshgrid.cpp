// meshgrid: the coordinates of a grid of vectors: the k-th result is the k-th vector along axis k, repeated along the
// others. With indexing "xy" the first two axes are exchanged.
#include "relay/op/gradient.h"

namespace relay::ops {
namespace meshgrid_cpp {
namespace {

struct MeshgridAttrs {
  std::string indexing = "ij";
  static constexpr auto fields = std::tuple{field("indexing", &MeshgridAttrs::indexing, "\"ij\" or \"xy\".")};
};

// The axis of the results along which the k-th vector varies.
size_t axis_of(const MeshgridAttrs& a, size_t k, size_t vectors) {
  return a.indexing == "xy" && vectors > 1 && k < 2 ? 1 - k : k;
}

Result<Type> infer(const MeshgridAttrs& a, const Types& in) {
  RELAY_ASSIGN(std::vector<const TensorType*> data, tuple_input(in, 0, "data"));
  // (C1) The indexing is one of two.
  if (a.indexing != "ij" && a.indexing != "xy")
    return constraint("C1", "indexing must be \"ij\" or \"xy\", but is \"{}\"", a.indexing);
  Dims shape(data.size());
  for (size_t k = 0; k < data.size(); ++k) {
    // (C2) All are vectors or scalars, of one element type.
    RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", data[0], "the first", data[k], "another"));
    if (data[k]->shape.size() > 1)
      return constraint("C2", "meshgrid takes vectors and scalars, but one has shape {}", text(data[k]->shape));
    shape[axis_of(a, k, data.size())] = data[k]->shape.empty() ? dim(1) : data[k]->shape[0];
  }
  return ir::tuple_type(Types(data.size(), ir::tensor_type(shape, data[0]->dtype)));
}

te::Tensors compute(const MeshgridAttrs& a, const te::Tensors& in, const Type& out) {
  te::Tensors grids;
  for (size_t k = 0; k < in.size(); ++k)
    grids.push_back(te::compute("meshgrid", shape_of(as<TupleType>(out)->fields[k]), [&](const Exprs& i) {
      return in[k]->shape.empty() ? (*in[k])({}) : (*in[k])({i[axis_of(a, k, in.size())]});
    }));
  return grids;
}

// For each vector, the sums over the other axes.
ir::Exprs gradient(const MeshgridAttrs& a, const Adjoint& of) {
  const Types& vectors = as<TupleType>(of.inputs[0]->type)->fields;
  ir::Exprs gradients;
  for (size_t k = 0; k < vectors.size(); ++k) {
    Ints others;
    for (size_t d = 0; d < vectors.size(); ++d)
      if (d != axis_of(a, k, vectors.size()) || shape_of(vectors[k]).empty()) others.push_back(static_cast<int64_t>(d));
    const ir::Expr field = ir::get(of.gradient, static_cast<int64_t>(k));
    gradients.push_back(others.empty() ? field : grad::call("sum", {field}, {{"axis", others}}));
  }
  return {ir::tuple(gradients)};
}

}  // namespace
}  // namespace meshgrid_cpp

OpDef meshgrid() {
  using namespace meshgrid_cpp;
  return define<MeshgridAttrs>({.name = "meshgrid",
                                .doc = "The coordinates of the grid that vectors span, one tensor for each axis.",
                                .inputs = {{"data", "a tuple of vectors", true}},
                                .fusion = Fusion::Injective,
                                .infer = infer,
                                .compute = compute,
                                .gradient = gradient,
                                .oracle = "torch.meshgrid(*data, indexing=indexing)",
                                .examples = {{.inputs = {"[(3,), (4,)]"}, .symbolic = {"[(n,), (m,)]"}},
                                             {.inputs = {"[(3,), (4,), (2,)]"}, .attrs = "indexing=\"xy\""},
                                             {.inputs = {"[(3,), ()]"}}},
                                .rejects = {{{"[(3,), (4,)]"}, "indexing=\"yx\"", "C1"},
                                            {{"[(3,), (4, 1)]"}, "", "C2"},
                                            {{"[(3,), (4,) int32]"}, "", "C2"}}},
                               "MeshgridAttrs");
}

}  // namespace relay::ops
