// Convolution in Winograd's form, with the transform of the weight as a separate operator:
//
//   along one axis, of m outputs from n = m + r - 1 inputs:   out = A [(G g) * (B d)]
//
// where g are the r taps and d the inputs. The matrices are those of Toom and Cook for the points p: row i of G is
// p[i]^k / product(l != i)(p[i] - p[l]), of A^T p[i]^j, and of B the coefficients of product(l != i)(x - p[l]); the
// last row is for infinity: the highest coefficients, and in B those of product(l)(x - p[l]). (Lavin and Gray, Fast
// Algorithms for Convolutional Neural Networks, 2015; Blahut, Fast Algorithms for Signal Processing.)
//
// nn.contrib_conv2d_winograd_weight_transform:     (O, C, r, r) to (n, n, O, C)
// nn.contrib_conv3d_winograd_weight_transform:     (O, C, D, r, r) to (n, n, n, O, C); a depth of less than 3, or more
//                                                  than 7, is not transformed: (n, n, D, O, C)
// nn.contrib_conv2d_winograd_nnpack_weight_transform: (O, C, 3, 3) to (O, C, 8, 8), of six outputs
// nn.contrib_conv2d_winograd_without_weight_transform, nn.contrib_conv3d_..: the convolution with such a weight
#include <algorithm>

#include "relay/op/nn/conv/conv.h"

namespace relay::ops {
namespace winograd_cpp {
namespace {

using Matrix = std::vector<std::vector<double>>;

constexpr double points[] = {0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, 1.0 / 3, -1.0 / 3};
constexpr int64_t max_points = 1 + static_cast<int64_t>(std::size(points));  // plus infinity

struct Transforms {
  Matrix weight, data, out;  // G (n, r), B (n, n), A (m, n)
};

// The coefficients of a polynomial times (x - root), lowest first.
std::vector<double> times_root(const std::vector<double>& polynomial, double root) {
  std::vector<double> out(polynomial.size() + 1, 0.0);
  for (size_t k = 0; k < polynomial.size(); ++k) out[k + 1] += polynomial[k], out[k] -= root * polynomial[k];
  return out;
}

Transforms transforms(int64_t m, int64_t r) {
  const size_t n = static_cast<size_t>(m + r - 1), finite = n - 1, taps = static_cast<size_t>(r),
               outs = static_cast<size_t>(m);
  Transforms t{Matrix(n, std::vector<double>(taps)), Matrix(n, std::vector<double>(n)),
               Matrix(outs, std::vector<double>(n))};
  for (size_t i = 0; i < n; ++i) {
    std::vector<double> others{1};
    double scale = 1;
    for (size_t l = 0; l < finite; ++l) {
      if (l == i) continue;
      others = times_root(others, points[l]);
      if (i < finite) scale *= points[i] - points[l];
    }
    std::copy(others.begin(), others.end(), t.data[i].begin());
    double power = 1;
    for (size_t k = 0; k < n; ++k, power *= i < finite ? points[i] : 0) {
      if (k < taps) t.weight[i][k] = i < finite ? power / scale : k + 1 == taps;
      if (k < outs) t.out[k][i] = i < finite ? power : k + 1 == outs;
    }
  }
  return t;
}

te::Tensor matrix(const char* name, const Matrix& values, DType dtype) {
  const int64_t rows = static_cast<int64_t>(values.size()), columns = static_cast<int64_t>(values[0].size());
  Exprs all;
  for (const std::vector<double>& row : values)
    for (double v : row) all.push_back(number(v, dtype));
  return te::compute(name, {dim(rows), dim(columns)},
                     [&](const Exprs& i) { return one_of(i[0] * columns + i[1], all); });
}

// sum(k) matrix[i, k] * tensor[.., k, ..] along an axis of the tensor.
te::Tensor transformed(const char* name, const te::Tensor& tensor, size_t axis, const te::Tensor& m) {
  Exprs shape = tensor->shape;
  shape[axis] = m->shape[0];
  return te::reduce(name, shape, {m->shape[1]}, Combiner::Sum, [&](Exprs i, const Exprs& k) {
    const Expr factor = (*m)({i[axis], k[0]});
    i[axis] = k[0];
    return factor * cast(m->dtype, (*tensor)(i));
  });
}

ir::Expr constant_matrix(const Matrix& values, DType dtype) {
  const int64_t rows = static_cast<int64_t>(values.size()), columns = static_cast<int64_t>(values[0].size());
  Tensor all = Tensor::empty({rows, columns}, dtype);
  for (int64_t i = 0; i < rows * columns; ++i)
    all.set(i, values[static_cast<size_t>(i / columns)][static_cast<size_t>(i % columns)]);
  return ir::constant(std::move(all));
}

// --- the transform of the weight -------------------------------------------------------------------------------------
struct TransformAttrs {
  int64_t tile_size = 0;
  static constexpr auto fields = std::tuple{
      required_field("tile_size", &TransformAttrs::tile_size, "Number of outputs of a tile along each axis.")};
};

struct NnpackAttrs {
  int64_t convolution_algorithm = 0;
  OptDType out_dtype;
  static constexpr auto fields =
      std::tuple{required_field("convolution_algorithm", &NnpackAttrs::convolution_algorithm,
                                "An algorithm number of NNPACK; all values have the same effect."),
                 field("out_dtype", &NnpackAttrs::out_dtype, "Element type of the result; None: that of the weight.")};
};

bool transforms_depth(const Dim& extent) { return scalar::is_int(extent) && extent->ivalue > 2 && extent->ivalue < 8; }

// (C2) The number of taps is known, and tiles are not empty and not too large.
Status check_tile(int64_t tile, const Dim& taps) {
  if (!scalar::is_int(taps) || taps->ivalue < 1)
    return constraint("C2", "the weight has {} taps along an axis, which is not a positive number", scalar::str(taps));
  if (tile < 1 || tile + taps->ivalue - 1 > max_points)
    return constraint("C2", "tile_size {} must be positive, and with {} taps at most {}", tile, taps->ivalue,
                      max_points + 1 - taps->ivalue);
  return ok();
}

Result<Type> infer_transform(const TransformAttrs& a, const Types& in, size_t axes) {
  RELAY_ASSIGN(const TensorType* weight, tensor_input(in, 0, "weight"));
  // (C1) The weight is (O, C, window), of floats.
  RELAY_RETURN_IF_ERROR(expect_rank("C1", weight, 2 + axes, "weight"));
  if (!weight->dtype.is_float()) return constraint("C1", "weight must be floats, but is {}", weight->dtype.str());
  const bool depth = axes == 3 && transforms_depth(weight->shape[2]);
  Dims shape;
  for (size_t d = axes == 3 && !depth ? 1 : 0; d < axes; ++d) {
    RELAY_RETURN_IF_ERROR(check_tile(a.tile_size, weight->shape[2 + d]));
    shape.push_back(scalar::simplify(weight->shape[2 + d] + (a.tile_size - 1)));
  }
  if (axes == 3 && !depth) shape.push_back(weight->shape[2]);
  shape.push_back(weight->shape[0]), shape.push_back(weight->shape[1]);
  return ir::tensor_type(std::move(shape), weight->dtype);
}

// (O, C, ..) with the axes from `first` on transformed.
te::Tensor transform_weight(const te::Tensor& weight, size_t first, int64_t tile) {
  te::Tensor t = converted(weight, accumulator(weight->dtype));
  for (size_t d = first; d < weight->shape.size(); ++d)
    t = transformed("transformed", t, d,
                    matrix("weight_matrix", transforms(tile, weight->shape[d]->ivalue).weight, t->dtype));
  return t;
}

te::Tensors compute_transform(const TransformAttrs& a, const te::Tensors& in, const Type& out, size_t axes) {
  const bool skip = axes == 3 && !transforms_depth(in[0]->shape[2]);
  const te::Tensor t = transform_weight(in[0], skip ? 3 : 2, a.tile_size);
  return {te::compute("winograd_weight", shape_of(out), [&](const Exprs& i) {
    Exprs at = {i[axes], i[axes + 1]};
    if (skip) at.push_back(i[2]);
    at.insert(at.end(), i.begin(), i.begin() + static_cast<std::ptrdiff_t>(skip ? 2 : axes));
    return cast(dtype_of(out), (*t)(at));
  })};
}

// (O, C, ..) with the axes from `first` on transformed, each by a product with a constant matrix.
ir::Expr transformed_weight(const ir::Expr& weight, int64_t first, int64_t tile) {
  const TensorType& type = grad::tensor(weight);
  ir::Expr t = weight;
  for (int64_t d = first; d < rank(&type); ++d)
    t = grad::contracted(
        t, rank(&type), d,
        constant_matrix(transforms(tile, type.shape[static_cast<size_t>(d)]->ivalue).weight, type.dtype));
  return t;
}

ir::Expr definition_of_transform(const TransformAttrs& a, const ir::Exprs& in, size_t axes) {
  const bool skip = axes == 3 && !transforms_depth(grad::tensor(in[0]).shape[2]);
  Ints order;
  for (size_t d = skip ? 1 : 0; d < axes; ++d) order.push_back(static_cast<int64_t>(2 + d));
  if (skip) order.push_back(2);
  order.push_back(0), order.push_back(1);
  return grad::call("transpose", {transformed_weight(in[0], skip ? 3 : 2, a.tile_size)}, {{"axes", order}});
}

Result<Type> infer_nnpack(const NnpackAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* weight, tensor_input(in, 0, "weight"));
  // (C1) The weight is (O, C, 3, 3), of floats.
  RELAY_RETURN_IF_ERROR(expect_rank("C1", weight, 4, "weight"));
  if (!weight->dtype.is_float() || !scalar::is_int(weight->shape[2], 3) || !scalar::is_int(weight->shape[3], 3))
    return constraint("C1", "weight must be (O, C, 3, 3) floats, but is {}", ir::str(in[0]));
  return ir::tensor_type({weight->shape[0], weight->shape[1], dim(8), dim(8)}, a.out_dtype.value_or(weight->dtype));
}

OpDef weight_transform(size_t axes, const char* name, const char* shape, std::vector<Example> examples,
                       std::vector<Reject> rejects) {
  return define<TransformAttrs>(
      {.name = name,
       .doc = "Transforms the weight of a convolution to Winograd's form.",
       .inputs = {{"weight", shape}},
       .fusion = Fusion::OutputFusable,
       .infer = [=](const TransformAttrs& a, const Types& in) { return infer_transform(a, in, axes); },
       .compute = [=](const TransformAttrs& a, const te::Tensors& in,
                      const Type& out) { return compute_transform(a, in, out, axes); },
       .definition = [=](const TransformAttrs& a, const ir::Exprs& in) { return definition_of_transform(a, in, axes); },
       .oracle = "winograd_weight(weight, tile_size)",
       .examples = std::move(examples),
       .rejects = std::move(rejects)},
      "ConvWinogradWeightTransformAttrs");
}

// --- the convolution -------------------------------------------------------------------------------------------------
template <size_t axes>
struct ConvAttrs : nn::ConvOf<axes> {
  int64_t tile_size = 0;
  static constexpr auto fields = std::tuple_cat(
      std::tuple{required_field("tile_size", &ConvAttrs::tile_size, "Number of outputs of a tile along each axis.")},
      nn::ConvOf<axes>::fields);
};

// The taps along each axis, from the weight's shape and kernel_size, and whether the axis is transformed.
struct Window {
  Ints taps;
  std::vector<bool> is_transformed;
};

template <size_t axes>
Result<Window> window_of(const ConvAttrs<axes>& a, const Dims& weight) {
  Window w{Ints(axes), std::vector<bool>(axes, true)};
  if (axes == 3) {
    // (C5) The taps along the depth determine whether it is transformed.
    if (!a.kernel_size || a.kernel_size->size() != axes)
      return constraint("C5", "kernel_size must be given, with {} extents", axes);
    w.is_transformed[0] = transforms_depth(dim((*a.kernel_size)[0]));
  }
  const size_t first = w.is_transformed[0] ? 0 : 1;
  for (size_t d = 0; d < axes; ++d) {
    const Dim& extent = w.is_transformed[d] ? weight[d - first] : weight[axes - 1];
    if (!scalar::is_int(extent)) return constraint("C5", "extent {} of weight is not a number", scalar::str(extent));
    w.taps[d] = w.is_transformed[d] ? extent->ivalue - a.tile_size + 1 : extent->ivalue;
    if (w.is_transformed[d]) RELAY_RETURN_IF_ERROR(check_tile(a.tile_size, dim(w.taps[d])));
    if (a.kernel_size && (a.kernel_size->size() != axes || (*a.kernel_size)[d] != w.taps[d]))
      return constraint("C5", "kernel_size is {}, but weight {} is that of {} taps along axis {}", text(*a.kernel_size),
                        text(weight), w.taps[d], d);
  }
  return w;
}

template <size_t axes>
Result<Type> infer_conv(const ConvAttrs<axes>& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* weight, tensor_input(in, 1, "weight"));
  // (C1) Data is (N, C, space), the weight a transformed one; both are floats of one type.
  RELAY_RETURN_IF_ERROR(expect_rank("C1", data, axes + 2, "data"));
  RELAY_RETURN_IF_ERROR(expect_rank("C1", weight, axes + 2, "weight"));
  if (!data->dtype.is_float()) return constraint("C1", "data must be floats, but is {}", data->dtype.str());
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C1", data, "data", weight, "weight"));
  // (C3) Strides and dilation are 1, there is one group, and the layouts are the plain ones.
  auto ones = [](const Ints& values) {
    return std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 1; });
  };
  const nn::ConvOf<axes> plain;
  if (!ones(a.strides) || !ones(a.dilation) || a.groups != 1 || a.data_layout != plain.data_layout ||
      (!a.out_layout.empty() && a.out_layout != plain.data_layout))
    return constraint("C3", "strides, dilation and groups must be 1, and layouts {}", plain.data_layout);
  RELAY_ASSIGN(const Ints padding, padding_sides("C3", a.padding, axes));
  // (C4) Data has the weight's channels; channels, if set, is that of the weight.
  if (!agree(data->shape[1], weight->shape[axes + 1]) || (a.channels && !agree(dim(*a.channels), weight->shape[axes])))
    return constraint("C4", "data {} and weight {} do not have the same channels, or channels is another",
                      text(data->shape), text(weight->shape));
  RELAY_ASSIGN(const Window w, window_of(a, weight->shape));
  Dims out = {data->shape[0], weight->shape[axes]};
  for (size_t d = 0; d < axes; ++d) {
    out.push_back(window_extent(data->shape[2 + d], dim(w.taps[d]), 1, padding[d], padding[axes + d], 1));
    // (C6) The window fits into the padded data.
    if (!at_least(out.back(), dim(1)))
      return constraint("C6", "{} taps are more than axis {} of the padded data {}", w.taps[d], d, text(data->shape));
  }
  return ir::tensor_type(std::move(out), a.out_dtype.value_or(data->dtype));
}

template <size_t axes>
te::Tensors compute_conv(const ConvAttrs<axes>& a, const te::Tensors& in, const Type& out) {
  const Window w = *window_of(a, in[1]->shape);
  const Dims& shape = shape_of(out);
  const DType wide = accumulator(dtype_of(out));
  const Ints pad = padding_sides(a.padding, axes);
  Ints before = {0, 0}, after = {0, 0};
  for (size_t d = 0; d < axes; ++d) before.push_back(pad[d]), after.push_back(pad[axes + d]);
  const te::Tensor data = padded(in[0], before, after, number(0, in[0]->dtype));
  // (N, C, tiles.., elements of a tile..); along an axis that is not transformed a tile is one output.
  Exprs tiled = {data->shape[0], data->shape[1]};
  auto tile = [&](size_t d) { return w.is_transformed[d] ? a.tile_size : 1; };
  for (size_t d = 0; d < axes; ++d) tiled.push_back(floordiv(shape[2 + d] + (tile(d) - 1), dim(tile(d))));
  for (size_t d = 0; d < axes; ++d) tiled.push_back(dim(tile(d) + w.taps[d] - 1));
  te::Tensor t = te::compute("tiles", tiled, [&](const Exprs& i) {
    Exprs at = {i[0], i[1]};
    Expr inside = imm(1, DType::boolean());
    for (size_t d = 0; d < axes; ++d) {
      at.push_back(i[2 + d] * tile(d) + i[2 + axes + d]);
      inside = logical_and(inside, lt(at.back(), data->shape[2 + d]));
    }
    return cast(wide, select(inside, (*data)(at), number(0, data->dtype)));
  });
  for (size_t d = 0; d < axes; ++d)
    if (w.is_transformed[d])
      t = transformed("transformed_data", t, 2 + axes + d,
                      matrix("data_matrix", transforms(a.tile_size, w.taps[d]).data, wide));
  // The sum over channels, and over the taps of axes that are not transformed.
  Exprs summed = {in[1]->shape[axes + 1]}, products = t->shape;
  products[1] = shape[1];
  for (size_t d = 0; d < axes; ++d)
    if (!w.is_transformed[d]) summed.push_back(dim(w.taps[d])), products[2 + axes + d] = dim(1);
  te::Tensor result = te::reduce("products", products, summed, Combiner::Sum, [&](Exprs i, const Exprs& k) {
    Exprs at;
    for (size_t d = 0; d < axes; ++d)
      if (w.is_transformed[d]) at.push_back(i[2 + axes + d]);
    if (!w.is_transformed[0]) at.push_back(k[1]), i[2 + axes] = k[1];
    at.push_back(i[1]), at.push_back(k[0]);
    i[1] = k[0];
    return (*t)(i)*cast(wide, (*in[1])(at));
  });
  for (size_t d = 0; d < axes; ++d)
    if (w.is_transformed[d])
      result = transformed("transformed_products", result, 2 + axes + d,
                           matrix("out_matrix", transforms(a.tile_size, w.taps[d]).out, wide));
  return {te::compute("winograd_conv", shape, [&](const Exprs& i) {
    Exprs at = {i[0], i[1]};
    for (size_t d = 0; d < axes; ++d) at.push_back(floordiv(i[2 + d], dim(tile(d))));
    for (size_t d = 0; d < axes; ++d) at.push_back(floormod(i[2 + d], dim(tile(d))));
    return cast(dtype_of(out), (*result)(at));
  })};
}

// The same by operators: tiles are the windows with a stride of one tile. Data is padded at the end so that the last
// tile is complete.
template <size_t axes>
ir::Expr definition_of_conv(const ConvAttrs<axes>& a, const ir::Exprs& in) {
  const Dims &data = grad::tensor(in[0]).shape, &weight = grad::tensor(in[1]).shape;
  if (std::any_of(data.begin(), data.end(), scalar::is_any) || scalar::is_any(weight[axes])) return nullptr;
  const DType dtype = grad::tensor(in[0]).dtype;
  const Window w = *window_of(a, weight);
  const Ints pad = padding_sides(a.padding, axes);
  IntLists around = {{0, 0}, {0, 0}};
  IntLists of_outputs = around;  // as long as the result
  Ints size, places;             // the outputs and inputs of a tile
  Dims tiles;
  for (size_t d = 0; d < axes; ++d) {
    size.push_back(w.is_transformed[d] ? a.tile_size : 1), places.push_back(size[d] + w.taps[d] - 1);
    around.push_back({pad[d], pad[axes + d] + size[d] - 1});
    tiles.push_back(window_extent(data[2 + d], dim(places[d]), size[d], pad[d], around.back()[1], 1));
    of_outputs.push_back({pad[d], pad[axes + d] - (w.taps[d] - 1)});
  }
  const int64_t rank = static_cast<int64_t>(axes) + 3;  // (N, C, places.., tiles)
  const ir::Expr padded = grad::call("nn.pad", {in[0], grad::number(0, in[0])}, {{"pad_width", around}});
  ir::Expr t = grad::call("nn.im2col", {padded}, {{"block_shape", places}, {"strides", size}});
  Dims apart = {data[0], data[1]};
  for (int64_t n : places) apart.push_back(dim(n));
  apart.push_back(dim(-1));
  t = grad::call("reshape", {t}, {{"newshape", apart}});
  auto matrices = [&](size_t d) { return transforms(a.tile_size, w.taps[d]); };
  for (size_t d = 0; d < axes; ++d)
    if (w.is_transformed[d])
      t = grad::contracted(t, rank, static_cast<int64_t>(2 + d), constant_matrix(matrices(d).data, dtype));
  const bool whole = w.is_transformed[0];
  const std::string equation = axes == 2 ? "bcxyp,xyoc->boxyp" : whole ? "bcxyzp,xyzoc->boxyzp" : "bcxyzp,yzxoc->boyzp";
  t = grad::call("einsum", {ir::tuple({t, in[1]})}, {{"equation", equation}});
  if (!whole) t = grad::call("expand_dims", {t}, {{"axis", int64_t{2}}});
  for (size_t d = 0; d < axes; ++d)
    if (w.is_transformed[d])
      t = grad::contracted(t, rank, static_cast<int64_t>(2 + d), constant_matrix(matrices(d).out, dtype));
  Dims split = {data[0], weight[axes]};
  Ints order = {0, 1}, merged = {0, 0};
  for (size_t d = 0; d < axes; ++d) split.push_back(dim(size[d]));
  for (size_t d = 0; d < axes; ++d) {
    split.push_back(tiles[d]);
    order.push_back(static_cast<int64_t>(2 + axes + d)), order.push_back(static_cast<int64_t>(2 + d));
    merged.push_back(-3);
  }
  t = grad::call("transpose", {grad::call("reshape", {t}, {{"newshape", split}})}, {{"axes", order}});
  t = grad::call("reshape", {t}, {{"newshape", merged}});
  Ints space;
  for (size_t d = 0; d < axes; ++d) space.push_back(static_cast<int64_t>(2 + d));
  const ir::Expr outputs = grad::call("nn.pad", {in[0], grad::number(0, in[0])}, {{"pad_width", of_outputs}});
  t = grad::call("slice_like", {t, outputs}, {{"axes", space}});
  return a.out_dtype && *a.out_dtype != dtype ? grad::call("cast", {t}, {{"dtype", *a.out_dtype}}) : t;
}

template <size_t axes>
OpDef convolution(const char* name, const char* weight, std::vector<Example> examples, std::vector<Reject> rejects) {
  return define<ConvAttrs<axes>>(
      {.name = name,
       .doc = "A convolution in Winograd's form, with a transformed weight.",
       .inputs = {{"data", format("(N, C, {})", nn::spaced_letters(axes))}, {"weight", weight}},
       .fusion = Fusion::OutputFusable,
       .infer = infer_conv<axes>,
       .compute = compute_conv<axes>,
       .definition = definition_of_conv<axes>,
       .oracle = "winograd_conv(data, weight, tile_size, padding, kernel_size)",
       .examples = std::move(examples),
       .rejects = std::move(rejects)},
      axes == 2 ? "Conv2DWinogradAttrs" : "Conv3DWinogradAttrs");
}

}  // namespace
}  // namespace winograd_cpp

OpDef nn_contrib_conv2d_winograd_weight_transform() {
  using namespace winograd_cpp;
  return weight_transform(2, "nn.contrib_conv2d_winograd_weight_transform", "(O, C, KH, KW)",
                          {{.inputs = {"(3, 2, 3, 3)"}, .attrs = "tile_size=4", .symbolic = {"(o, c, 3, 3)"}},
                           {.inputs = {"(2, 3, 5, 5)"}, .attrs = "tile_size=2"},
                           {.inputs = {"(2, 3, 1, 3)"}, .attrs = "tile_size=2"}},
                          {{{"(3, 2, 3)"}, "tile_size=4", "C1"},
                           {{"(3, 2, 3, 3) int32"}, "tile_size=4", "C1"},
                           {{"(3, 2, 3, 3)"}, "tile_size=0", "C2"},
                           {{"(3, 2, 3, 3)"}, "tile_size=20", "C2"},
                           {{"(3, 2, k, 3)"}, "tile_size=2", "C2"}});
}

OpDef nn_contrib_conv3d_winograd_weight_transform() {
  using namespace winograd_cpp;
  return weight_transform(3, "nn.contrib_conv3d_winograd_weight_transform", "(O, C, KD, KH, KW)",
                          {{.inputs = {"(3, 2, 3, 3, 3)"}, .attrs = "tile_size=2", .symbolic = {"(o, c, 3, 3, 3)"}},
                           {.inputs = {"(2, 3, 1, 3, 3)"}, .attrs = "tile_size=4"}},
                          {{{"(3, 2, 3, 3)"}, "tile_size=4", "C1"}, {{"(3, 2, 3, 3, 3)"}, "tile_size=20", "C2"}});
}

OpDef nn_contrib_conv2d_winograd_nnpack_weight_transform() {
  using namespace winograd_cpp;
  return define<NnpackAttrs>(
      {.name = "nn.contrib_conv2d_winograd_nnpack_weight_transform",
       .doc = "Transforms the weight of a convolution to Winograd's form for tiles of 6 x 6 outputs.",
       .inputs = {{"weight", "(O, C, 3, 3)"}},
       // Fusion of nn.contrib_conv2d_winograd_nnpack_weight_transform: opaque in the reference; it sums over taps, as
       // the other transforms do.
       .fusion = Fusion::OutputFusable,
       .infer = infer_nnpack,
       .compute = [](const NnpackAttrs&, const te::Tensors& in,
                     const Type& out) { return te::Tensors{converted(transform_weight(in[0], 2, 6), dtype_of(out))}; },
       .definition = [](const NnpackAttrs& a, const ir::Exprs& in) -> ir::Expr {
         const ir::Expr t = transformed_weight(in[0], 2, 6);
         return a.out_dtype ? grad::call("cast", {t}, {{"dtype", *a.out_dtype}}) : t;
       },
       .oracle = "winograd_weight(weight, 6).permute(2, 3, 0, 1)",
       .examples = {{.inputs = {"(3, 2, 3, 3)"}, .attrs = "convolution_algorithm=4", .symbolic = {"(o, c, 3, 3)"}}},
       .rejects = {{{"(3, 2, 5, 5)"}, "convolution_algorithm=4", "C1"},
                   {{"(3, 2, 3)"}, "convolution_algorithm=4", "C1"}}},
      "Conv2DWinogradNNPACKWeightTransformAttrs");
}

// Rounding errors grow with the tile: the largest entries of the matrices of six points are 5.
OpDef nn_contrib_conv2d_winograd_without_weight_transform() {
  using namespace winograd_cpp;
  return convolution<2>("nn.contrib_conv2d_winograd_without_weight_transform", "(n, n, O, C)",
                        {{.inputs = {"(1, 3, 6, 7)", "(4, 4, 5, 3)"},
                          .attrs = "tile_size=2, padding=[1, 1], kernel_size=[3, 3]",
                          .symbolic = {"(n, c, h, w)", "(4, 4, o, c)"},
                          .ulps = 64},
                         {.inputs = {"(2, 2, 9, 5)", "(6, 6, 3, 2)"}, .attrs = "tile_size=4, channels=3", .ulps = 64},
                         {.inputs = {"(1, 2, 8, 9)", "(6, 6, 3, 2)"}, .attrs = "tile_size=2, padding=[2]", .ulps = 64}},
                        {{{"(1, 3, 6, 7)", "(4, 5, 3)"}, "tile_size=2", "C1"},
                         {{"(1, 3, 6, 7)", "(4, 4, 5, 3) float64"}, "tile_size=2", "C1"},
                         {{"(1, 3, 6, 7)", "(4, 4, 5, 3)"}, "tile_size=0", "C2"},
                         {{"(1, 3, 6, 7)", "(4, 4, 5, 3)"}, "tile_size=2, strides=[2, 2]", "C3"},
                         {{"(1, 3, 6, 7)", "(4, 4, 5, 2)"}, "tile_size=2", "C4"},
                         {{"(1, 3, 6, 7)", "(4, 4, 5, 3)"}, "tile_size=2, kernel_size=[5, 5]", "C5"},
                         {{"(1, 3, 2, 7)", "(4, 4, 5, 3)"}, "tile_size=2", "C6"}});
}

OpDef nn_contrib_conv3d_winograd_without_weight_transform() {
  using namespace winograd_cpp;
  return convolution<3>(
      "nn.contrib_conv3d_winograd_without_weight_transform", "(n, n, n, O, C), or (n, n, KD, O, C)",
      {{.inputs = {"(1, 2, 4, 5, 6)", "(4, 4, 4, 3, 2)"},
        .attrs = "tile_size=2, padding=[1, 1, 1], kernel_size=[3, 3, 3]",
        .symbolic = {"(n, c, d, h, w)", "(4, 4, 4, o, c)"},
        .ulps = 256},
       {.inputs = {"(1, 3, 4, 5, 6)", "(4, 4, 2, 3, 3)"}, .attrs = "tile_size=2, kernel_size=[2, 3, 3]", .ulps = 64}},
      {{{"(1, 3, 6, 7)", "(4, 4, 4, 5, 3)"}, "tile_size=2, kernel_size=[3, 3, 3]", "C1"},
       {{"(1, 2, 4, 5, 6)", "(4, 4, 4, 3, 2)"}, "tile_size=2", "C5"},
       {{"(1, 2, 2, 5, 6)", "(4, 4, 4, 3, 2)"}, "tile_size=2, kernel_size=[3, 3, 3]", "C6"}});
}

}  // namespace relay::ops
