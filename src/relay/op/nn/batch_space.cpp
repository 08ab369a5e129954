// nn.space_to_batch_nd: each position in a block becomes a separate batch element; data (N, spatial.., rest..)
//   out[k * N + n, p.., rest..] = padded data[n, p * block + offset(k).., rest..]
// nn.batch_to_space_nd: the inverse, followed by cropping
//   out[n, q.., rest..] = data[k(y % block) * N + n, y // block.., rest..]   with y = q + crop before
//
// k numbers the offsets in a block in row-major order.
#include <algorithm>

#include "relay/op/gradient.h"

namespace relay::ops {
namespace batch_space_cpp {
namespace {

struct SpaceToBatchNDAttrs {
  Ints block_shape = {1, 1};
  IntLists paddings;
  double pad_value = 0;
  static constexpr auto fields = std::tuple{
      field("block_shape", &SpaceToBatchNDAttrs::block_shape, "Extents of a block."),
      required_field("paddings", &SpaceToBatchNDAttrs::paddings, "Elements added before and after each axis."),
      field("pad_value", &SpaceToBatchNDAttrs::pad_value, "Value of the padding.")};
};

struct BatchToSpaceNDAttrs {
  Ints block_shape = {1, 1};
  IntLists crops;
  static constexpr auto fields =
      std::tuple{field("block_shape", &BatchToSpaceNDAttrs::block_shape, "Extents of a block."),
                 required_field("crops", &BatchToSpaceNDAttrs::crops, "Elements cut off before and after each axis.")};
};

// (C1) There is an axis after the first for each extent of the block, all of them positive.
// (C2) The pairs are as many, and not negative.
Status check(const TensorType* data, const Ints& block, const char* name, const IntLists& pairs) {
  if (block.empty() || static_cast<int64_t>(block.size()) >= rank(data))
    return constraint("C1", "block_shape {} does not fit data {}, whose first axis is the batch", text(block),
                      text(data->shape));
  RELAY_RETURN_IF_ERROR(per_axis("C1", "block_shape", block, block.size()));
  constexpr int64_t most = int64_t{1} << 40;
  bool good = std::all_of(pairs.begin(), pairs.end(), [](const Ints& p) {
    return p.size() == 2 && std::min(p[0], p[1]) >= 0 && std::max(p[0], p[1]) <= most;
  });
  if (!good || pairs.size() != block.size())
    return constraint("C2", "{} must be {} pairs of numbers from 0 to 2^40, one for each extent of block_shape {}",
                      name, block.size(), text(block));
  return ok();
}

int64_t size_of(const Ints& block) {
  int64_t size = 1;
  for (int64_t b : block) size *= b;
  return size;
}

Result<Type> infer_to_batch(const SpaceToBatchNDAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_RETURN_IF_ERROR(check(data, a.block_shape, "paddings", a.paddings));
  Dims out = data->shape;
  out[0] = out[0] * size_of(a.block_shape);
  for (size_t d = 0; d < a.block_shape.size(); ++d) {
    Dim padded = scalar::simplify(out[d + 1] + a.paddings[d][0] + a.paddings[d][1]);
    // (C3) Blocks divide the padded data.
    if (!divides(dim(a.block_shape[d]), padded))
      return constraint("C3", "blocks of {} do not divide axis {} of data {}, which is {} with its padding",
                        a.block_shape[d], d + 1, text(data->shape), scalar::str(padded));
    out[d + 1] = floordiv(padded, a.block_shape[d]);
  }
  return ir::tensor_type(simplified(std::move(out)), data->dtype);
}

te::Tensors compute_to_batch(const SpaceToBatchNDAttrs& a, const te::Tensors& in, const Type& out) {
  Ints before(in[0]->shape.size(), 0), after = before;
  for (size_t d = 0; d < a.paddings.size(); ++d) before[d + 1] = a.paddings[d][0], after[d + 1] = a.paddings[d][1];
  te::Tensor data = padded(in[0], before, after, number(a.pad_value, in[0]->dtype));
  return {te::compute("space_to_batch_nd", shape_of(out), [&](Exprs i) {
    Expr k = floordiv(i[0], data->shape[0]);
    i[0] = floormod(i[0], data->shape[0]);
    for (size_t d = a.block_shape.size(); d-- > 0;) {
      i[d + 1] = i[d + 1] * a.block_shape[d] + floormod(k, a.block_shape[d]);
      k = floordiv(k, a.block_shape[d]);
    }
    return (*data)(i);
  })};
}

Result<Type> infer_to_space(const BatchToSpaceNDAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_RETURN_IF_ERROR(check(data, a.block_shape, "crops", a.crops));
  Dims out = data->shape;
  // (C3) A block divides the batch.
  const int64_t size = size_of(a.block_shape);
  if (!divides(dim(size), out[0]))
    return constraint("C3", "a block {} has {} elements, which do not divide the batch of data {}", text(a.block_shape),
                      size, text(data->shape));
  out[0] = floordiv(out[0], size);
  for (size_t d = 0; d < a.block_shape.size(); ++d) {
    out[d + 1] = scalar::simplify(out[d + 1] * a.block_shape[d] - a.crops[d][0] - a.crops[d][1]);
    // (C4) Crops do not exceed the extents.
    if (!at_least(out[d + 1], dim(0)))
      return constraint("C4", "crops {} cut more off axis {} than data {} has", text(a.crops[d]), d + 1,
                        text(data->shape));
  }
  return ir::tensor_type(simplified(std::move(out)), data->dtype);
}

te::Tensors compute_to_space(const BatchToSpaceNDAttrs& a, const te::Tensors& in, const Type& out) {
  const Expr& batch = shape_of(out)[0];
  return {te::compute("batch_to_space_nd", shape_of(out), [&](Exprs i) {
    Expr k = dim(0);
    for (size_t d = 0; d < a.block_shape.size(); ++d) {
      Expr y = i[d + 1] + a.crops[d][0];
      k = k * a.block_shape[d] + floormod(y, a.block_shape[d]);
      i[d + 1] = floordiv(y, a.block_shape[d]);
    }
    i[0] = k * batch + i[0];
    return (*in[0])(i);
  })};
}

// Each is the other's gradient, with padding and crops exchanged.
ir::Exprs gradient_to_batch(const SpaceToBatchNDAttrs& a, const Adjoint& of) {
  return {grad::call("nn.batch_to_space_nd", {of.gradient}, {{"block_shape", a.block_shape}, {"crops", a.paddings}})};
}
ir::Exprs gradient_to_space(const BatchToSpaceNDAttrs& a, const Adjoint& of) {
  return {grad::call("nn.space_to_batch_nd", {of.gradient}, {{"block_shape", a.block_shape}, {"paddings", a.crops}})};
}

}  // namespace
}  // namespace batch_space_cpp

OpDef nn_space_to_batch_nd() {
  using namespace batch_space_cpp;
  return define<SpaceToBatchNDAttrs>(
      {.name = "nn.space_to_batch_nd",
       .doc = "Divides data into blocks, and moves each position inside of a block to a batch element of its own.",
       .inputs = {{"data", "(N, spatial.., rest..)"}},
       .fusion = Fusion::Injective,
       .infer = infer_to_batch,
       .compute = compute_to_batch,
       .gradient = gradient_to_batch,
       .oracle = "space_to_batch(data, block_shape, paddings, pad_value)",
       .examples = {{.inputs = {"(2, 4, 6, 3)"},
                     .attrs = "block_shape=[2, 3], paddings=[[0, 0], [0, 0]]",
                     .symbolic = {"(n, 4, 6, c)"}},
                    {.inputs = {"(1, 3, 5)"}, .attrs = "block_shape=[2, 2], paddings=[[1, 0], [1, 2]], pad_value=0.5f"},
                    {.inputs = {"(2, 5, 3)"},
                     .attrs = "block_shape=[3], paddings=[[0, 1]]",
                     .symbolic = {"(n, t, 3)"}}},
       .rejects = {{{"(2, 4)"}, "block_shape=[2, 2], paddings=[[0, 0], [0, 0]]", "C1"},
                   {{"(2, 4)"}, "block_shape=[0], paddings=[[0, 0]]", "C1"},
                   {{"(2, 4)"}, "block_shape=[2], paddings=[[0, 0], [0, 0]]", "C2"},
                   {{"(2, 4)"}, "block_shape=[2], paddings=[[0, -2]]", "C2"},
                   {{"(2, 4)"}, "block_shape=[2], paddings=[[0, 1]]", "C3"}}},
      "SpaceToBatchNDAttrs");
}

OpDef nn_batch_to_space_nd() {
  using namespace batch_space_cpp;
  return define<BatchToSpaceNDAttrs>(
      {.name = "nn.batch_to_space_nd",
       .doc = "Reassembles blocks whose positions are batch elements: the inverse of nn.space_to_batch_nd.",
       .inputs = {{"data", "(N, spatial.., rest..)"}},
       .fusion = Fusion::Injective,
       .infer = infer_to_space,
       .compute = compute_to_space,
       .gradient = gradient_to_space,
       .oracle = "batch_to_space(data, block_shape, crops)",
       .examples = {{.inputs = {"(12, 2, 2, 3)"},
                     .attrs = "block_shape=[2, 3], crops=[[0, 0], [0, 0]]",
                     .symbolic = {"(12, h, w, c)"}},
                    {.inputs = {"(8, 3, 5)"}, .attrs = "block_shape=[2, 2], crops=[[1, 0], [1, 2]]"},
                    {.inputs = {"(6, 5, 3)"}, .attrs = "block_shape=[3], crops=[[0, 1]]", .symbolic = {"(6, t, 3)"}}},
       .rejects = {{{"(4, 4)"}, "block_shape=[2, 2], crops=[[0, 0], [0, 0]]", "C1"},
                   {{"(2, 4)"}, "block_shape=[2], crops=[[0, 0], [0, 0]]", "C2"},
                   {{"(3, 4)"}, "block_shape=[2], crops=[[0, 0]]", "C3"},
                   {{"(2, 4)"}, "block_shape=[2], crops=[[4, 5]]", "C4"}}},
      "BatchToSpaceNDAttrs");
}

}  // namespace relay::ops
