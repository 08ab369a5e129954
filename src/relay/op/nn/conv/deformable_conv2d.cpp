// nn.deformable_conv2d: a convolution whose taps are moved by offsets from an input
//
//   out[n, o, y, x] = sum(c, ky, kx) weight[o, c, ky, kx] * D(n, g(o) * C/groups + c, y * stride + ky * dilation -
//                     before + offset[n, 2 * t, y, x], x * stride + kx * dilation - before + offset[n, 2 * t + 1, y,
//                       x])
//
// nn.modulated_deformable_conv2d: the same, with samples multiplied by mask[n, t, y, x]
//
// with t = (c // (C / deformable_groups) * KH + ky) * KW + kx. D(n, c, y, x) is data between its pixels, bilinear, and
// 0 outside of data.
#include "relay/op/nn/conv/conv.h"

namespace relay::ops {
namespace deformable_conv2d_cpp {
namespace {

struct DeformableConv2DAttrs {
  Ints strides = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  int64_t deformable_groups = 1;
  int64_t groups = 1;
  OptInt channels;
  OptInts kernel_size;
  std::string data_layout = "NCHW", kernel_layout = "OIHW", out_layout;
  OptDType out_dtype;
  static constexpr auto fields = std::tuple{
      field("strides", &DeformableConv2DAttrs::strides, "Step of the window along each axis."),
      field("padding", &DeformableConv2DAttrs::padding,
            "Zero padding around the data: one value, one per axis, or the values before all axes followed by those "
            "after all axes."),
      field("dilation", &DeformableConv2DAttrs::dilation, "Distance between two taps of the window."),
      field("deformable_groups", &DeformableConv2DAttrs::deformable_groups,
            "Number of groups of channels that share offsets."),
      field("groups", &DeformableConv2DAttrs::groups, "Number of independent groups of channels."),
      field("channels", &DeformableConv2DAttrs::channels, "Number of output channels; None: that of the weight."),
      field("kernel_size", &DeformableConv2DAttrs::kernel_size, "Extents of the window; None: those of the weight."),
      field("data_layout", &DeformableConv2DAttrs::data_layout, "\"NCHW\"."),
      field("kernel_layout", &DeformableConv2DAttrs::kernel_layout, "\"OIHW\"."),
      field("out_layout", &DeformableConv2DAttrs::out_layout, "\"NCHW\", or empty."),
      field("out_dtype", &DeformableConv2DAttrs::out_dtype, "Element type of the result; None: that of the data.")};
};

Result<Type> infer(const DeformableConv2DAttrs& a, const Types& in) {
  const bool masked = in.size() == 4;
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* offset, tensor_input(in, 1, "offset"));
  RELAY_ASSIGN(const TensorType* weight, tensor_input(in, in.size() - 1, "weight"));
  // (C1) The layouts are NCHW and OIHW.
  if (a.data_layout != "NCHW" || a.kernel_layout != "OIHW" || (!a.out_layout.empty() && a.out_layout != "NCHW"))
    return constraint("C1", "the layouts must be \"NCHW\" and \"OIHW\", but are \"{}\", \"{}\" and \"{}\"",
                      a.data_layout, a.kernel_layout, a.out_layout);
  // (C2) All have four axes, of floats of one type.
  RELAY_RETURN_IF_ERROR(expect_rank("C2", offset, 4, "offset"));
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", data, "data", offset, "offset"));
  if (!data->dtype.is_float()) return constraint("C2", "data must be floats, but is {}", data->dtype.str());
  // (C3) Data and weight are those of a convolution.
  nn::ConvOf<2> plain;
  plain.strides = a.strides, plain.padding = a.padding, plain.dilation = a.dilation, plain.groups = a.groups;
  plain.channels = a.channels, plain.kernel_size = a.kernel_size, plain.out_dtype = a.out_dtype;
  Result<Type> out = nn::infer_conv(2, plain, {in[0], in.back()});
  if (!out) return constraint("C3", "data and weight do not fit: {}", out.errors().front().message);
  // (C4) There are two offsets for each tap and deformable group of channels, at each element of the result.
  const Dims& shape = shape_of(*out);
  if (a.deformable_groups < 1 || !divides(dim(a.deformable_groups), data->shape[1]))
    return constraint("C4", "deformable_groups {} must be positive and divide {} channels", a.deformable_groups,
                      scalar::str(data->shape[1]));
  Dims wanted = {shape[0], weight->shape[2] * weight->shape[3] * (2 * a.deformable_groups), shape[2], shape[3]};
  wanted = simplified(std::move(wanted));
  if (!agree(wanted, offset->shape))
    return constraint("C4", "offset {} should be {}", text(offset->shape), text(wanted));
  // (C5) There is a factor for each pair of offsets.
  if (masked) {
    RELAY_ASSIGN(const TensorType* mask, tensor_input(in, 2, "mask"));
    RELAY_RETURN_IF_ERROR(expect_same_dtype("C5", data, "data", mask, "mask"));
    wanted[1] = scalar::simplify(floordiv(wanted[1], 2));
    if (!agree(wanted, mask->shape)) return constraint("C5", "mask {} should be {}", text(mask->shape), text(wanted));
  }
  return out;
}

te::Tensors compute(const DeformableConv2DAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor &data = in[0], &offset = in[1], &weight = in.back();
  const DType wide = accumulator(data->dtype), sum_dtype = accumulator(dtype_of(out));
  const Ints strides = per_axis(a.strides, 2), dilation = per_axis(a.dilation, 2), pad = padding_sides(a.padding, 2);
  const Exprs& shape = shape_of(out);
  const Expr per_offset = scalar::simplify(floordiv(data->shape[1], a.deformable_groups));
  // The samples of data under tap (ky, kx) of the window at (y, x): [n, c, ky, kx, y, x]
  te::Tensor sampled =
      te::compute("sampled", {shape[0], data->shape[1], weight->shape[2], weight->shape[3], shape[2], shape[3]},
                  [&](const Exprs& i) {
                    Expr tap = (floordiv(i[1], per_offset) * weight->shape[2] + i[2]) * weight->shape[3] + i[3];
                    Expr first[2], part[2];
                    for (size_t d = 0; d < 2; ++d) {
                      Expr moved = cast(wide, (*offset)({i[0], tap * 2 + static_cast<int64_t>(d), i[4], i[5]}));
                      Expr at = cast(wide, i[4 + d] * strides[d] + i[2 + d] * dilation[d] - pad[d]) + moved;
                      Expr below = unary(UnaryOp::Floor, at);
                      first[d] = cast(DType::int64(), below), part[d] = at - below;
                    }
                    Expr value;
                    for (int64_t dy : {0, 1})
                      for (int64_t dx : {0, 1}) {
                        Expr y = first[0] + dy, x = first[1] + dx, one = number(1, wide);
                        Expr inside = logical_and(logical_and(le(dim(0), y), lt(y, data->shape[2])),
                                                  logical_and(le(dim(0), x), lt(x, data->shape[3])));
                        Expr scale = (dy ? part[0] : one - part[0]) * (dx ? part[1] : one - part[1]);
                        Expr term = select(inside, cast(wide, (*data)({i[0], i[1], y, x})), number(0, wide)) * scale;
                        value = value ? value + term : term;
                      }
                    return in.size() == 4 ? value * cast(wide, (*in[2])({i[0], tap, i[4], i[5]})) : value;
                  });
  const Expr group_in = weight->shape[1], group_out = scalar::simplify(floordiv(weight->shape[0], a.groups));
  te::Tensor sum = te::reduce("deformable_conv2d", shape, {group_in, weight->shape[2], weight->shape[3]}, Combiner::Sum,
                              [&](const Exprs& i, const Exprs& r) {
                                Expr c = a.groups == 1 ? r[0] : floordiv(i[1], group_out) * group_in + r[0];
                                return cast(sum_dtype, (*sampled)({i[0], c, r[1], r[2], i[2], i[3]})) *
                                       cast(sum_dtype, (*weight)({i[1], r[0], r[1], r[2]}));
                              });
  return {converted(sum, dtype_of(out))};
}

// The positions of the taps without an offset, along y or x: (taps, 1, rows, 1) or (taps, 1, 1, columns).
ir::Expr places_of_taps(const ir::Expr& offset, const Ints& of_taps, int64_t stride, bool along_x) {
  const DType dtype = grad::tensor(offset).dtype;
  const ir::Expr windows = grad::call("cast", {grad::places(offset, along_x ? 3 : 2)}, {{"dtype", dtype}});
  const ir::Expr moved = grad::times(windows, grad::number(static_cast<double>(stride), offset));
  Tensor taps = Tensor::empty({static_cast<int64_t>(of_taps.size()), 1, 1, 1}, dtype);
  for (size_t t = 0; t < of_taps.size(); ++t) taps.set(static_cast<int64_t>(t), static_cast<double>(of_taps[t]));
  return grad::plus(grad::along(moved, along_x ? 3 : 2, 4), ir::constant(std::move(taps)));
}

// Samples by image.grid_sample, in the product that the convolution is. For a window of known extents.
ir::Expr definition(const DeformableConv2DAttrs& a, const ir::Exprs& in) {
  const Dims &data = grad::tensor(in[0]).shape, &weight = grad::tensor(in.back()).shape;
  const Dim &channels = data[1], &filters = weight[0], &rows = grad::tensor(in[1]).shape[2],
            &columns = grad::tensor(in[1]).shape[3];
  if (!scalar::is_int(weight[2]) || !scalar::is_int(weight[3])) return nullptr;
  for (const Dim& d : {data[0], channels, data[2], data[3], filters, rows, columns})
    if (scalar::is_any(d)) return nullptr;
  const DType dtype = grad::tensor(in[0]).dtype;
  const int64_t parts = a.deformable_groups, kernel[2] = {weight[2]->ivalue, weight[3]->ivalue},
                taps = kernel[0] * kernel[1];
  const Ints strides = per_axis(a.strides, 2), dilation = per_axis(a.dilation, 2), pad = padding_sides(a.padding, 2);
  auto shaped = [](const ir::Expr& e, Dims shape) {
    return grad::call("reshape", {e}, {{"newshape", simplified(std::move(shape))}});
  };
  const Dim images = data[0] * parts;
  const ir::Expr moved = shaped(in[1], {images, dim(taps), dim(2), rows, columns});
  ir::Exprs grid;  // from -1, the outer edge of the first pixel, to 1: x, then y
  for (size_t d : {size_t{1}, size_t{0}}) {
    Ints of_taps;
    for (int64_t t = 0; t < taps; ++t) of_taps.push_back((d ? t % kernel[1] : t / kernel[1]) * dilation[d] - pad[d]);
    const int64_t axis = static_cast<int64_t>(d);
    const ir::Expr own =
        grad::call("strided_slice", {moved}, {{"begin", Ints{axis}}, {"end", Ints{axis + 1}}, {"axes", Ints{2}}});
    const ir::Expr place = grad::plus(own, places_of_taps(in[1], of_taps, strides[d], d == 1)),
                   one = grad::number(1, in[0]);
    const ir::Expr middle = grad::plus(grad::times(place, grad::number(2, in[0])), one);
    const ir::Expr extent = grad::call("cast", {grad::extent(in[0], 2 + axis)}, {{"dtype", dtype}});
    grid.push_back(grad::minus(grad::over(middle, extent), one));
  }
  ir::Expr places = grad::call("concatenate", {ir::tuple(grid)}, {{"axis", int64_t{2}}});
  places = grad::call("transpose", {places}, {{"axes", Ints{0, 2, 1, 3, 4}}});
  places = shaped(places, {images, dim(2), rows * taps, columns});
  const Dim of_part = floordiv(channels, dim(parts)), points = rows * columns;
  ir::Expr sampled = grad::call("image.grid_sample", {shaped(in[0], {images, of_part, data[2], data[3]}), places},
                                {{"align_corners", false}});
  if (in.size() == 4)
    sampled =
        grad::times(shaped(sampled, {images, of_part, points * taps}), shaped(in[2], {images, dim(1), points * taps}));
  sampled = shaped(sampled, {data[0], dim(a.groups), floordiv(channels, dim(a.groups)), dim(taps), points});
  const ir::Expr filter = shaped(in.back(), {dim(a.groups), floordiv(filters, dim(a.groups)), weight[1], dim(taps)});
  const ir::Expr out =
      grad::call("einsum", {ir::tuple({sampled, filter})}, {{"equation", std::string("ngckp,gock->ngop")}});
  const ir::Expr all = shaped(out, {data[0], filters, rows, columns});
  return a.out_dtype && *a.out_dtype != dtype ? grad::call("cast", {all}, {{"dtype", *a.out_dtype}}) : all;
}

}  // namespace
}  // namespace deformable_conv2d_cpp

OpDef nn_deformable_conv2d() {
  using namespace deformable_conv2d_cpp;
  return define<DeformableConv2DAttrs>(
      {.name = "nn.deformable_conv2d",
       .doc = "Two-dimensional convolution whose taps are displaced by offsets.",
       .inputs = {{"data", "(N, C, H, W)"},
                  {"offset", "(N, 2 * deformable_groups * KH * KW, H', W'): y and x in turn"},
                  {"weight", "(O, C / groups, KH, KW)"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .compute = compute,
       .definition = definition,
       .oracle = "deformable_conv2d(data, offset, weight, strides, padding, dilation, deformable_groups, groups)",
       // Kernels round the position of a sample, and so its weights, in another order.
       .examples = {{.inputs = {"(1, 2, 5, 6)", "(1, 18, 3, 4)", "(3, 2, 3, 3)"},
                     .symbolic = {"(n, c, h, w)", "(n, 18, h - 2, w - 2)", "(o, c, 3, 3)"},
                     .low = -2,
                     .high = 2,
                     .ulps = 16},
                    {.inputs = {"(2, 4, 5, 5)", "(2, 16, 3, 3)", "(2, 2, 2, 2)"},
                     .attrs = "strides=[2, 2], padding=[1, 1], dilation=[2, 2], deformable_groups=2, groups=2",
                     .ulps = 16}},
       .rejects = {{{"(1, 2, 5, 6)", "(1, 18, 3, 4)", "(3, 2, 3, 3)"}, "data_layout=\"NHWC\"", "C1"},
                   {{"(1, 2, 5, 6)", "(18, 3, 4)", "(3, 2, 3, 3)"}, "", "C2"},
                   {{"(1, 2, 5, 6)", "(1, 18, 3, 4)", "(3, 3, 3, 3)"}, "", "C3"},
                   {{"(1, 2, 5, 6)", "(1, 16, 3, 4)", "(3, 2, 3, 3)"}, "", "C4"},
                   {{"(1, 2, 5, 6)", "(1, 54, 3, 4)", "(3, 2, 3, 3)"}, "deformable_groups=3", "C4"}}},
      "DeformableConv2DAttrs");
}

OpDef nn_modulated_deformable_conv2d() {
  using namespace deformable_conv2d_cpp;
  return define<DeformableConv2DAttrs>(
      {.name = "nn.modulated_deformable_conv2d",
       .doc = "Two-dimensional convolution whose taps are displaced by offsets and scaled by a mask.",
       .inputs = {{"data", "(N, C, H, W)"},
                  {"offset", "(N, 2 * deformable_groups * KH * KW, H', W'): y and x in turn"},
                  {"mask", "(N, deformable_groups * KH * KW, H', W')"},
                  {"weight", "(O, C / groups, KH, KW)"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .compute = compute,
       .definition = definition,
       .is_extension = true,
       .oracle = "deformable_conv2d(data, offset, weight, strides, padding, dilation, deformable_groups, groups, mask)",
       // Kernels round the position of a sample, and so its weights, in another order.
       .examples = {{.inputs = {"(1, 2, 5, 6)", "(1, 18, 3, 4)", "(1, 9, 3, 4)", "(3, 2, 3, 3)"},
                     .symbolic = {"(n, c, h, w)", "(n, 18, h - 2, w - 2)", "(n, 9, h - 2, w - 2)", "(o, c, 3, 3)"},
                     .low = -2,
                     .high = 2,
                     .ulps = 16},
                    {.inputs = {"(2, 4, 5, 5)", "(2, 16, 3, 3)", "(2, 8, 3, 3)", "(2, 2, 2, 2)"},
                     .attrs = "strides=[2, 2], padding=[1, 1], dilation=[2, 2], deformable_groups=2, groups=2",
                     .ulps = 16}},
       .rejects = {{{"(1, 2, 5, 6)", "(1, 18, 3, 4)", "(1, 8, 3, 4)", "(3, 2, 3, 3)"}, "", "C5"},
                   {{"(1, 2, 5, 6)", "(1, 18, 3, 4)", "(1, 9, 3, 4) float64", "(3, 2, 3, 3)"}, "", "C5"}}},
      "ModulatedDeformableConv2DAttrs");
}

}  // namespace relay::ops
