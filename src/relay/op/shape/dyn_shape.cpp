// Shape operators whose arguments are tensors, so that the result's shape is known only at run time:
//
//   dyn.tile           out[.., i, ..] = data[.., i % extent, ..], repeated reps times along each axis
//   dyn.strided_slice  out[i] = data[begin + i * stride] along the first axes, as strided_slice
//   dyn.expand_dims    data with axes of extent 1 at a place
//   dyn.squeeze        data without axes of extent 1
#include <algorithm>

#include "relay/op/gradient.h"
#include "relay/op/shape/reshape.h"

namespace relay::ops {
namespace dyn_shape_cpp {
namespace {

Expr value_of(const te::Tensor& t, size_t k) { return cast(DType::int64(), (*t)({dim(static_cast<int64_t>(k))})); }

Type unknown(size_t rank, DType dtype) { return ir::tensor_type(Dims(rank, scalar::any_dim()), dtype); }

Result<Type> infer_tile(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The numbers are a list of integers of known length.
  RELAY_ASSIGN(size_t count, shape_input("C1", in, 1, "reps"));
  return unknown(std::max(count, data->shape.size()), data->dtype);
}

te::Tensor tile_shape(const NoAttrs&, const te::Tensors& in) {
  const Exprs& data = in[0]->shape;
  const size_t count = static_cast<size_t>(in[1]->shape[0]->ivalue), rank = std::max(count, data.size());
  Exprs sizes;
  for (size_t d = 0; d < rank; ++d) {
    Expr own = d + data.size() < rank ? dim(1) : data[d + data.size() - rank];
    Expr times = d + count < rank ? dim(1) : value_of(in[1], d + count - rank);
    sizes.push_back(own * max(times, dim(0)));
  }
  return shape_tensor(sizes);
}

te::Tensors compute_tile(const NoAttrs&, const te::Tensors& in, const Type& out) {
  const Exprs& shape = in[0]->shape;
  return {te::compute("tile", shape_of(out), [&](const Exprs& i) {
    Exprs at(i.end() - static_cast<std::ptrdiff_t>(shape.size()), i.end());
    for (size_t d = 0; d < at.size(); ++d) at[d] = scalar::is_int(shape[d], 1) ? dim(0) : floormod(at[d], shape[d]);
    return (*in[0])(at);
  })};
}

struct DynStridedSliceAttrs {
  std::string slice_mode = "end";
  static constexpr auto fields = std::tuple{
      field("slice_mode", &DynStridedSliceAttrs::slice_mode, "\"end\", or \"size\" if end contains extents.")};
};

Result<Type> infer_slice(const DynStridedSliceAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) Begin, end and strides are equally many integers, at most as many as data has axes.
  RELAY_ASSIGN(size_t begins, shape_input("C1", in, 1, "begin"));
  RELAY_ASSIGN(size_t ends, shape_input("C1", in, 2, "end"));
  RELAY_ASSIGN(size_t steps, shape_input("C1", in, 3, "strides"));
  if (begins != ends || begins != steps || begins > data->shape.size())
    return constraint("C1", "begin, end and strides have {}, {} and {} values, and data {} has {} axes", begins, ends,
                      steps, text(data->shape), data->shape.size());
  // (C2) slice_mode is one of two.
  if (a.slice_mode != "end" && a.slice_mode != "size")
    return constraint("C2", "slice_mode must be \"end\" or \"size\", but is \"{}\"", a.slice_mode);
  return unknown(data->shape.size(), data->dtype);
}

// The slice along axis d: its beginning, step and extent; -1 if the step is 0.
struct Slice {
  Expr begin, step, extent;
};
Slice slice_of(const DynStridedSliceAttrs& a, const te::Tensors& in, size_t d) {
  const Expr& n = in[0]->shape[d];
  Expr step = a.slice_mode == "size" ? dim(1) : value_of(in[3], d), up = lt(dim(0), step);
  // Clipped to [0, n], or for negative steps to [-1, n - 1].
  auto cut = [&](const Expr& x) {
    return max(min(select(lt(x, dim(0)), x + n, x), select(up, n, n - 1)), select(up, dim(0), dim(-1)));
  };
  Expr begin = cut(value_of(in[1], d)), given = value_of(in[2], d), end = cut(given);
  if (a.slice_mode == "size") end = select(lt(given, dim(0)), n, min(begin + given, n));
  Expr size = select(up, step, dim(0) - step);
  Expr count = max(floordiv(select(up, end - begin, begin - end) + size - 1, size), dim(0));
  return {begin, step, select(eq(step, dim(0)), dim(-1), count)};
}

te::Tensor slice_shape(const DynStridedSliceAttrs& a, const te::Tensors& in) {
  Exprs sizes = in[0]->shape;
  for (int64_t d = 0; d < in[1]->shape[0]->ivalue; ++d)
    sizes[static_cast<size_t>(d)] = slice_of(a, in, static_cast<size_t>(d)).extent;
  return shape_tensor(sizes);
}

te::Tensors compute_slice(const DynStridedSliceAttrs& a, const te::Tensors& in, const Type& out) {
  return {te::compute("strided_slice", shape_of(out), [&](Exprs i) {
    for (size_t d = 0; d < static_cast<size_t>(in[1]->shape[0]->ivalue); ++d) {
      Slice s = slice_of(a, in, d);
      i[d] = max(min(s.begin + i[d] * s.step, in[0]->shape[d] - 1), dim(0));
    }
    return (*in[0])(i);
  })};
}

struct DynExpandDimsAttrs {
  int64_t num_newaxis = 1;
  static constexpr auto fields =
      std::tuple{field("num_newaxis", &DynExpandDimsAttrs::num_newaxis, "Number of new axes.")};
};

Result<Type> infer_expand(const DynExpandDimsAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* axis, tensor_input(in, 1, "axis"));
  // (C1) The axis is one integer.
  if (!axis->shape.empty() || !axis->dtype.is_int())
    return constraint("C1", "axis must be one integer, but is {}", ir::str(in[1]));
  // (C2) The number of new axes is not negative, and small.
  if (a.num_newaxis < 0 || a.num_newaxis > 64)
    return constraint("C2", "num_newaxis must be from 0 to 64, but is {}", a.num_newaxis);
  return unknown(data->shape.size() + static_cast<size_t>(a.num_newaxis), data->dtype);
}

te::Tensor expand_shape(const DynExpandDimsAttrs& a, const te::Tensors& in) {
  const Exprs& data = in[0]->shape;
  const int64_t rank = static_cast<int64_t>(data.size());
  Expr axis = cast(DType::int64(), (*in[1])({})), inside = logical_and(le(dim(-rank - 1), axis), le(axis, dim(rank)));
  axis = select(lt(axis, dim(0)), axis + (rank + 1), axis);
  Exprs sizes;
  for (int64_t d = 0; d < rank + a.num_newaxis; ++d) {
    Expr front = d < rank ? data[static_cast<size_t>(d)] : dim(1);
    Expr behind = d >= a.num_newaxis ? data[static_cast<size_t>(d - a.num_newaxis)] : dim(1);
    Expr size = select(lt(dim(d), axis), front, select(lt(dim(d), axis + a.num_newaxis), dim(1), behind));
    sizes.push_back(select(inside, size, dim(-1)));
  }
  return shape_tensor(sizes);
}

Result<Type> infer_squeeze(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The axes are a list of integers of known length, at most as many as data has axes.
  RELAY_ASSIGN(size_t count, shape_input("C1", in, 1, "axes"));
  if (count > data->shape.size())
    return constraint("C1", "{} axes are dropped, but data is {}", count, text(data->shape));
  return unknown(data->shape.size() - count, data->dtype);
}

// Sizes are -1 if a dropped axis does not have extent 1, or is named twice.
te::Tensor squeeze_shape(const NoAttrs&, const te::Tensors& in) {
  const Exprs& data = in[0]->shape;
  const size_t count = static_cast<size_t>(in[1]->shape[0]->ivalue);
  const int64_t rank = static_cast<int64_t>(data.size());
  Expr fits = imm(1, DType::boolean()), kept_before = dim(0);
  Exprs kept, before;  // per axis of data: whether it is kept, and the number of kept axes before it
  for (int64_t d = 0; d < rank; ++d) {
    Expr named = dim(0);
    for (size_t k = 0; k < count; ++k) {
      Expr axis = value_of(in[1], k);
      named = named + cast(DType::int64(), logical_or(eq(axis, dim(d)), eq(axis, dim(d - rank))));
    }
    kept.push_back(eq(named, dim(0))), before.push_back(kept_before);
    fits = logical_and(fits, logical_or(kept.back(), eq(data[static_cast<size_t>(d)], dim(1))));
    kept_before = kept_before + cast(DType::int64(), kept.back());
  }
  fits = logical_and(fits, eq(kept_before, dim(rank - static_cast<int64_t>(count))));
  Exprs sizes;
  for (int64_t j = 0; j < rank - static_cast<int64_t>(count); ++j) {
    Expr size = dim(-1);
    for (size_t d = 0; d < data.size(); ++d) size = select(logical_and(kept[d], eq(before[d], dim(j))), data[d], size);
    sizes.push_back(select(fits, size, dim(-1)));
  }
  return shape_tensor(sizes);
}

// Tiling the numbers of data's elements shows the source of each.
ir::Exprs tile_gradient(const NoAttrs&, const Adjoint& of) {
  const ir::Expr& data = of.inputs[0];
  return {grad::scattered(of.gradient, grad::call("dyn.tile", {grad::element_numbers(data), of.inputs[1]}), data),
          nullptr};
}
ir::Exprs slice_gradient(const DynStridedSliceAttrs& a, const Adjoint& of) {
  const ir::Expr& data = of.inputs[0];
  const ir::Expr sources =
      grad::call("dyn.strided_slice", {grad::element_numbers(data), of.inputs[1], of.inputs[2], of.inputs[3]},
                 {{"slice_mode", a.slice_mode}});
  return {grad::scattered(of.gradient, sources, data), nullptr, nullptr, nullptr};
}
// The same elements in the same order.
ir::Exprs reshaped_gradient(const Adjoint& of) { return {grad::shaped_as(of.gradient, of.inputs[0]), nullptr}; }

}  // namespace
}  // namespace dyn_shape_cpp

OpDef dyn_tile() {
  using namespace dyn_shape_cpp;
  return define<NoAttrs>({.name = "dyn.tile",
                          .doc = "Repeats the whole tensor along each axis by counts that are computed at run time.",
                          .inputs = {{"data", "any shape"}, {"reps", "integers, aligned to the last axis"}},
                          // Fusion of dyn.tile: injective in the reference; its size is computed before it, so that
                          // it could share a kernel with what follows only.
                          .fusion = Fusion::Opaque,
                          .infer = infer_tile,
                          .compute = compute_tile,
                          .shape = tile_shape,
                          .gradient = tile_gradient,
                          .accepts_storage_types = true,
                          .oracle = "torch.tile(data, tuple(int(n) for n in reps))",
                          .examples = {{.inputs = {"(2, 3)", "(2,) int64"}, .low = 1, .high = 3},
                                       {.inputs = {"(2, 1)", "(3,) int32"}, .low = 1, .high = 3},
                                       {.inputs = {"(2, 3)", "(1,) int32"}, .low = 1, .high = 3}},
                          .rejects = {{{"(2, 3)", "(2,)"}, "", "C1"}}});
}

OpDef dyn_strided_slice() {
  using namespace dyn_shape_cpp;
  return define<DynStridedSliceAttrs>(
      {.name = "dyn.strided_slice",
       .doc = "A strided slice along each axis, whose bounds are computed at run time.",
       .inputs = {{"data", "any shape"},
                  {"begin", "(axes,) integers"},
                  {"end", "(axes,) integers"},
                  {"strides", "(axes,) integers, not zero"}},
       // Fusion of dyn.strided_slice: injective in the reference; its size is computed before it, so that it could
       // share a kernel with what follows only.
       .fusion = Fusion::Opaque,
       .infer = infer_slice,
       .compute = compute_slice,
       .shape = slice_shape,
       .gradient = slice_gradient,
       .accepts_storage_types = true,
       .oracle = "sliced(data, [int(n) for n in begin], [int(n) for n in end], [int(n) for n in strides], slice_mode, "
                 "None)",
       .examples = {{.inputs = {"(8, 9)", "(1,) int64", "(1,) int64", "(1,) int64"}, .low = 1, .high = 5},
                    {.inputs = {"(8, 9)", "(2,) int32", "(2,) int32", "(2,) int32"}, .low = -8, .high = -1},
                    {.inputs = {"(8, 9)", "(2,) int32", "(2,) int32", "(2,) int32"}, .low = 1, .high = 8},
                    {.inputs = {"(8, 9)", "(2,) int32", "(2,) int32", "(2,) int32"},
                     .attrs = "slice_mode=\"size\"",
                     .low = 1,
                     .high = 4}},
       .rejects = {{{"(8, 9)", "(1,)", "(1,) int32", "(1,) int32"}, "", "C1"},
                   {{"(8, 9)", "(1,) int32", "(2,) int32", "(1,) int32"}, "", "C1"},
                   {{"(8, 9)", "(1,) int32", "(1,) int32", "(1,) int32"}, "slice_mode=\"last\"", "C2"}}},
      "DynStridedSliceAttrs");
}

OpDef dyn_expand_dims() {
  using namespace dyn_shape_cpp;
  return define<DynExpandDimsAttrs>(
      {.name = "dyn.expand_dims",
       .doc = "Inserts axes of extent 1 at a position that is computed at run time.",
       .inputs = {{"data", "any shape"}, {"axis", "one integer from -rank - 1 to rank: the position of the new axes"}},
       // Fusion of dyn.expand_dims: injective in the reference; its size is computed before it, so that it could
       // share a kernel with what follows only.
       .fusion = Fusion::Opaque,
       .infer = infer_expand,
       .compute = [](const DynExpandDimsAttrs&, const te::Tensors& in,
                     const Type& out) { return te::Tensors{shape::reshaped("expand_dims", in[0], shape_of(out))}; },
       .shape = expand_shape,
       .gradient = [](const DynExpandDimsAttrs&, const Adjoint& of) { return reshaped_gradient(of); },
       .accepts_storage_types = true,
       .oracle =
           "data.reshape([*data.shape[: (a := int(axis) % (data.ndim + 1))], *[1] * num_newaxis, *data.shape[a:]])",
       .examples = {{.inputs = {"(2, 3)", "() int64"}, .low = 0, .high = 2},
                    {.inputs = {"(2, 3)", "() int32"}, .attrs = "num_newaxis=2", .low = -3, .high = 2}},
       .rejects = {{{"(2, 3)", "(1,) int32"}, "", "C1"}, {{"(2, 3)", "() int32"}, "num_newaxis=-1", "C2"}}},
      "DynExpandDimsAttrs");
}

OpDef dyn_squeeze() {
  using namespace dyn_shape_cpp;
  return define<NoAttrs>(
      {.name = "dyn.squeeze",
       .doc = "Drops axes of extent 1 that are computed at run time.",
       .inputs = {{"data", "any shape"}, {"axes", "(count,) integers: different axes of extent 1"}},
       // Fusion of dyn.squeeze: injective in the reference; its size is computed before it, so that it could share a
       // kernel with what follows only.
       .fusion = Fusion::Opaque,
       .infer = infer_squeeze,
       .compute = [](const NoAttrs&, const te::Tensors& in,
                     const Type& out) { return te::Tensors{shape::reshaped("squeeze", in[0], shape_of(out))}; },
       .shape = squeeze_shape,
       .gradient = [](const NoAttrs&, const Adjoint& of) { return reshaped_gradient(of); },
       .accepts_storage_types = true,
       .oracle = "data.squeeze([int(n) for n in axes])",
       .examples = {{.inputs = {"(2, 1, 3)", "(1,) int64"}, .low = 1, .high = 1},
                    {.inputs = {"(2, 3, 1)", "(1,) int32"}, .low = -1, .high = -1}},
       .rejects = {{{"(2, 1)", "(1,)"}, "", "C1"}, {{"(1,)", "(2,) int32"}, "", "C1"}}});
}

}  // namespace relay::ops
