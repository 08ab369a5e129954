// Convolution as one matrix product, with a tiled weight:
//
// nn.contrib_conv2d_gemm_weight_transform: the weight (KH, KW, C, O) as a matrix of K = KH * KW * C rows and O columns,
//   in tiles: out[i, j, n, k] = weight[j * tile_K + k, i * tile_N + n], and 0 outside of it
// nn.contrib_conv2d_gemm_without_weight_transform: nn.conv2d of data (N, H, W, C) with such a weight
#include "relay/op/nn/conv/conv.h"

namespace relay::ops {
namespace conv2d_gemm_cpp {
namespace {

struct TransformAttrs {
  int64_t tile_N = 0, tile_K = 0;
  static constexpr auto fields =
      std::tuple{required_field("tile_N", &TransformAttrs::tile_N, "Columns of a tile: output channels."),
                 required_field("tile_K", &TransformAttrs::tile_K, "Rows of a tile: taps and input channels.")};
};

struct ConvAttrs : nn::ConvOf<2> {
  ConvAttrs() { data_layout = "NHWC", kernel_layout = "HWIO"; }
  static constexpr auto fields = nn::ConvOf<2>::fields;
};

Result<Type> infer_transform(const TransformAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* weight, tensor_input(in, 0, "weights"));
  // (C1) The weight has four axes.
  RELAY_RETURN_IF_ERROR(expect_rank("C1", weight, 4, "weights"));
  // (C2) Tiles are not empty.
  if (a.tile_N < 1 || a.tile_K < 1)
    return constraint("C2", "tile_N and tile_K must be positive, but are {} and {}", a.tile_N, a.tile_K);
  const Dims& s = weight->shape;
  const Dim k = s[0] * s[1] * s[2];
  return ir::tensor_type(simplified({floordiv(s[3] + (a.tile_N - 1), dim(a.tile_N)),
                                     floordiv(k + (a.tile_K - 1), dim(a.tile_K)), dim(a.tile_N), dim(a.tile_K)}),
                         weight->dtype);
}

te::Tensors compute_transform(const TransformAttrs& a, const te::Tensors& in, const Type& out) {
  const Dims& s = in[0]->shape;
  return {te::compute("tiles", shape_of(out), [&](const Exprs& i) {
    const Expr o = i[0] * a.tile_N + i[2], k = i[1] * a.tile_K + i[3], tap = floordiv(k, s[2]);
    const Expr inside = logical_and(lt(o, s[3]), lt(k, s[0] * s[1] * s[2]));
    return select(inside, (*in[0])({floordiv(tap, s[1]), floormod(tap, s[1]), floormod(k, s[2]), o}),
                  imm(0, in[0]->dtype));
  })};
}

Result<Type> infer_conv(const ConvAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* weight, tensor_input(in, 1, "weight"));
  // (C1) Data is (N, H, W, C), the weight tiles; they are of one type, unless out_dtype is given.
  RELAY_RETURN_IF_ERROR(expect_rank("C1", data, 4, "data"));
  RELAY_RETURN_IF_ERROR(expect_rank("C1", weight, 4, "weight"));
  if (!a.out_dtype) RELAY_RETURN_IF_ERROR(expect_same_dtype("C1", data, "data", weight, "weight"));
  if (a.data_layout != "NHWC" || (!a.out_layout.empty() && a.out_layout != "NHWC") || a.groups != 1)
    return constraint("C1", "data_layout must be NHWC and groups 1, but they are {} and {}", a.data_layout, a.groups);
  // (C2) channels and kernel_size are set: tiles do not determine them.
  if (!a.channels || !a.kernel_size || a.kernel_size->size() != 2)
    return constraint("C2", "channels and kernel_size must be given, kernel_size with two extents");
  RELAY_ASSIGN(Ints kernel, per_axis("C2", "kernel_size", *a.kernel_size, 2));
  // (C3) Strides and dilation are positive, padding is not negative.
  RELAY_ASSIGN(Ints strides, per_axis("C3", "strides", a.strides, 2));
  RELAY_ASSIGN(Ints dilation, per_axis("C3", "dilation", a.dilation, 2));
  RELAY_ASSIGN(Ints padding, padding_sides("C3", a.padding, 2));
  // (C4) There are as many tiles as the weight needs.
  const Dims& w = weight->shape;
  const Dim k = data->shape[3] * (kernel[0] * kernel[1]);
  if (!agree(w[0], floordiv(dim(*a.channels) + w[2] - 1, w[2])) || !agree(w[1], floordiv(k + w[3] - 1, w[3])))
    return constraint("C4", "weight {} does not contain {} rows and {} columns in tiles", text(w),
                      scalar::str(scalar::simplify(k)), *a.channels);
  Dims out = data->shape;
  out[3] = dim(*a.channels);
  for (size_t d = 0; d < 2; ++d) {
    out[1 + d] = window_extent(data->shape[1 + d], dim(kernel[d]), strides[d], padding[d], padding[2 + d], dilation[d]);
    // (C5) The window fits into the padded data.
    if (!at_least(out[1 + d], dim(1)))
      return constraint("C5", "a window of {} is larger than the padded data {}", text(kernel), text(data->shape));
  }
  return ir::tensor_type(std::move(out), a.out_dtype.value_or(data->dtype));
}

te::Tensors compute_conv(const ConvAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor& tiles = in[1];
  const Ints strides = per_axis(a.strides, 2), dilation = per_axis(a.dilation, 2), pad = padding_sides(a.padding, 2),
             kernel = per_axis(*a.kernel_size, 2);
  const te::Tensor data = padded(in[0], {0, pad[0], pad[1], 0}, {0, pad[2], pad[3], 0}, imm(0, in[0]->dtype));
  const DType wide = accumulator(dtype_of(out));
  const Expr &c = in[0]->shape[3], &tile_n = tiles->shape[2], &tile_k = tiles->shape[3];
  te::Tensor sum = te::reduce(
      "conv2d", shape_of(out), {dim(kernel[0]), dim(kernel[1]), c}, Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
        const Expr k = (r[0] * kernel[1] + r[1]) * c + r[2];
        const Expr value =
            (*data)({i[0], i[1] * strides[0] + r[0] * dilation[0], i[2] * strides[1] + r[1] * dilation[1], r[2]});
        const Expr factor =
            (*tiles)({floordiv(i[3], tile_n), floordiv(k, tile_k), floormod(i[3], tile_n), floormod(k, tile_k)});
        return cast(wide, value) * cast(wide, factor);
      });
  return {converted(sum, dtype_of(out))};
}

ir::Expr definition_of_conv(const ConvAttrs& a, const ir::Exprs& in) {
  const Dims& data = grad::tensor(in[0]).shape;
  if (scalar::is_any(data[3])) return nullptr;
  const int64_t taps = (*a.kernel_size)[0] * (*a.kernel_size)[1];
  const ir::Expr transposed = grad::call("transpose", {in[1]}, {{"axes", Ints{1, 3, 0, 2}}});
  const ir::Expr matrix = grad::call("reshape", {transposed}, {{"newshape", Ints{-3, -3}}});
  const ir::Expr columns =
      grad::call("strided_slice", {matrix}, {{"begin", Ints{0}}, {"end", Ints{*a.channels}}, {"axes", Ints{1}}});
  const ir::Expr rows = grad::call("tile", {grad::places(in[0], 3)}, {{"reps", Ints{taps}}});
  const ir::Expr cut = grad::call("slice_like", {columns, rows}, {{"axes", Ints{0}}});
  const Dims shape = {dim((*a.kernel_size)[0]), dim((*a.kernel_size)[1]), data[3], dim(*a.channels)};
  op::AttrValues attrs = {{"strides", a.strides},
                          {"padding", a.padding},
                          {"dilation", a.dilation},
                          {"data_layout", "NHWC"},
                          {"kernel_layout", "HWIO"}};
  if (a.out_dtype) attrs.push_back({"out_dtype", *a.out_dtype});
  return grad::call("nn.conv2d", {in[0], grad::call("reshape", {cut}, {{"newshape", shape}})}, attrs);
}

}  // namespace
}  // namespace conv2d_gemm_cpp

OpDef nn_contrib_conv2d_gemm_weight_transform() {
  using namespace conv2d_gemm_cpp;
  return define<TransformAttrs>(
      {.name = "nn.contrib_conv2d_gemm_weight_transform",
       .doc = "Stores the weight of a convolution as a matrix in tiles.",
       .inputs = {{"weights", "(KH, KW, C, O)"}},
       // Fusion of nn.contrib_conv2d_gemm_weight_transform: output fusable in the reference; it moves elements.
       .fusion = Fusion::Injective,
       .infer = infer_transform,
       .compute = compute_transform,
       .gradient = [](const TransformAttrs& a, const Adjoint& of) -> ir::Exprs {
         const ir::Expr sources =
             grad::call("nn.contrib_conv2d_gemm_weight_transform", {grad::element_numbers(of.inputs[0])},
                        {{"tile_N", a.tile_N}, {"tile_K", a.tile_K}});
         return {grad::scattered(of.gradient, sources, of.inputs[0])};
       },
       .oracle = "gemm_weight(weights, tile_N, tile_K)",
       .examples = {{.inputs = {"(3, 2, 5, 7)"}, .attrs = "tile_N=4, tile_K=16", .symbolic = {"(3, 2, c, o)"}},
                    {.inputs = {"(1, 1, 8, 8) int8"}, .attrs = "tile_N=4, tile_K=4", .low = -128, .high = 127}},
       .rejects = {{{"(3, 2, 5)"}, "tile_N=4, tile_K=4", "C1"}, {{"(3, 2, 5, 7)"}, "tile_N=0, tile_K=4", "C2"}}},
      "ConvGemmWeightTransformAttrs");
}

OpDef nn_contrib_conv2d_gemm_without_weight_transform() {
  using namespace conv2d_gemm_cpp;
  return define<ConvAttrs>(
      {.name = "nn.contrib_conv2d_gemm_without_weight_transform",
       .doc = "Two-dimensional convolution with a weight in tiles.",
       .inputs = {{"data", "(N, H, W, C)"}, {"weight", "(tiles of O, tiles of KH * KW * C, tile_N, tile_K)"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer_conv,
       .compute = compute_conv,
       .definition = definition_of_conv,
       .oracle = "gemm_conv(data, weight, channels, kernel_size, strides, padding, dilation)",
       .examples = {{.inputs = {"(1, 6, 7, 5)", "(2, 2, 4, 16)"},
                     .attrs = "channels=7, kernel_size=[3, 2], padding=[1, 0]",
                     .symbolic = {"(n, h, w, 5)", "(2, 2, 4, 16)"}},
                    {.inputs = {"(1, 4, 5, 3)", "(1, 2, 4, 6)"},
                     .attrs = "channels=4, kernel_size=[2, 2]",
                     .symbolic = {"(n, h, w, c)", "(1, (4 * c + 5) / 6, 4, 6)"}},
                    {.inputs = {"(1, 6, 7, 4) int8", "(2, 3, 4, 4) int8"},
                     .attrs = "channels=8, kernel_size=[1, 3], strides=[2, 1], out_dtype=\"int32\"",
                     .low = -128,
                     .high = 127}},
       .rejects = {{{"(1, 6, 5)", "(2, 2, 4, 16)"}, "channels=7, kernel_size=[3, 2]", "C1"},
                   {{"(1, 6, 7, 5)", "(2, 2, 4, 16)"}, "channels=7, kernel_size=[3, 2], groups=5", "C1"},
                   {{"(1, 6, 7, 5)", "(2, 2, 4, 16)"}, "channels=7", "C2"},
                   {{"(1, 6, 7, 5)", "(2, 2, 4, 16)"}, "channels=7, kernel_size=[3, 2], strides=[0]", "C3"},
                   {{"(1, 6, 7, 5)", "(2, 2, 4, 16)"}, "channels=9, kernel_size=[3, 2]", "C4"},
                   {{"(1, 2, 7, 5)", "(2, 2, 4, 16)"}, "channels=7, kernel_size=[3, 2]", "C5"}}},
      "Conv2DAttrs");
}

}  // namespace relay::ops
