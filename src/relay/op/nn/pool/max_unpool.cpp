// nn.max_unpool: zeros, with the maxima at the places where they were found:
//   out[n, c, indices[n, c, i..]] = data[n, c, i..]     with each image of out numbered in row-major order
//
// Inverts a max pool that also returns the places of its maxima. If two have the same place, the later one is kept.
// Negative indices count from the end; others outside of an image are refused.
#include "relay/op/composite.h"

namespace relay::ops {
namespace max_unpool_cpp {
namespace {

struct MaxUnpoolAttrs {
  Dims output_size;
  static constexpr auto fields =
      std::tuple{required_field("output_size", &MaxUnpoolAttrs::output_size, "Extents of the images.")};
};

Result<Type> infer(const MaxUnpoolAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* indices, tensor_input(in, 1, "indices"));
  // (C1) Data is images of at least one axis, and output_size has as many.
  if (rank(data) < 3 || data->shape.size() != a.output_size.size() + 2)
    return constraint("C1", "output_size {} should have one value for each axis of data {} after the first two",
                      text(a.output_size), text(data->shape));
  for (const Dim& d : a.output_size)
    if (!at_least(d, dim(1))) return constraint("C1", "output_size {} should be positive", text(a.output_size));
  // (C2) There is an index for each element.
  if (!indices->dtype.is_int() || !agree(indices->shape, data->shape))
    return constraint("C2", "indices must be integers of shape {}, but are {}", text(data->shape), ir::str(in[1]));
  Dims out = {data->shape[0], data->shape[1]};
  out.insert(out.end(), a.output_size.begin(), a.output_size.end());
  return ir::tensor_type(std::move(out), data->dtype);
}

op::Checks checked(const MaxUnpoolAttrs& a, const Types&) {
  return {{1, {scalar::simplify(product(a.output_size))}, {2}}};
}

ir::Expr definition(const MaxUnpoolAttrs& a, const ir::Exprs& in) {
  const TensorType& data = grad::tensor(in[0]);
  auto shaped = [](const ir::Expr& e, const Dims& shape) {
    return grad::call("reshape", {e}, {{"newshape", shape}, {"allowzero", true}});
  };
  auto flat = [&](const ir::Expr& e) {
    const Dims pooled(data.shape.begin() + 2, data.shape.end());
    return shaped(e, {data.shape[0], data.shape[1], scalar::simplify(product(pooled))});
  };
  const Dims images = {data.shape[0], data.shape[1], scalar::simplify(product(a.output_size))};
  const ir::Expr zeros = grad::call("zeros", {}, {{"shape", images}, {"dtype", data.dtype}});
  const ir::Expr put = grad::call("scatter_elements", {zeros, flat(in[1]), flat(in[0])}, {{"axis", int64_t{2}}});
  Dims out = {data.shape[0], data.shape[1]};
  out.insert(out.end(), a.output_size.begin(), a.output_size.end());
  return shaped(put, out);
}

}  // namespace
}  // namespace max_unpool_cpp

OpDef nn_max_unpool() {
  using namespace max_unpool_cpp;
  return define<MaxUnpoolAttrs>(
      {.name = "nn.max_unpool",
       .doc = "Puts values at given positions of images, which are zero elsewhere.",
       .inputs = {{"data", "(N, C, pooled image..)"}, {"indices", "integers, the shape of data"}},
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = by_definition<MaxUnpoolAttrs>(definition),
       .checked = checked,
       .definition = definition,
       .composite = true,
       .is_extension = true,
       .oracle = "max_unpool(data, indices, output_size)",
       .examples = {{.inputs = {"(2, 3, 2, 2)", "(2, 3, 2, 2) int64"},
                     .attrs = "output_size=[4, 5]",
                     .symbolic = {"(n, 3, 2, 2)", "(n, 3, 2, 2) int64"},
                     .ranges = {{-1, 1}, {0, 19}}},
                    {.inputs = {"(1, 2, 3)", "(1, 2, 3) int32"},
                     .attrs = "output_size=[7]",
                     .ranges = {{-1, 1}, {-7, 6}}}},
       .rejects = {{{"(2, 3, 2, 2)", "(2, 3, 2, 2) int64"}, "output_size=[4]", "C1"},
                   {{"(2, 3)", "(2, 3) int64"}, "output_size=[]", "C1"},
                   {{"(1, 2, 3)", "(1, 2, 3) int64"}, "output_size=[0]", "C1"},
                   {{"(1, 2, 3)", "(1, 2, 3)"}, "output_size=[7]", "C2"},
                   {{"(1, 2, 3)", "(1, 2, 2) int64"}, "output_size=[7]", "C2"}}},
      "MaxUnpoolAttrs");
}

}  // namespace relay::ops
