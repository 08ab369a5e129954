// nn.deformable_conv2d: a convolution each of whose taps is moved by an offset that is data itself
//
//   out[n, o, y, x] = sum(c, ky, kx) weight[o, c, ky, kx] * D(n, g(o) * C/groups + c, y * stride + ky * dilation -
//                     before + offset[n, 2 * t, y, x], x * stride + kx * dilation - before + offset[n, 2 * t + 1, y,
//                       x])
//
// with t = (c // (C / deformable_groups) * KH + ky) * KW + kx. D(n, c, y, x) is data between its pixels, bilinear, and
// 0 outside of data.
#include "relay/op/nn/conv.h"

namespace relay::ops {
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
            "Zeros around the data: one value, one for each axis, or all befores and then all afters."),
      field("dilation", &DeformableConv2DAttrs::dilation, "Distance between two taps of the window."),
      field("deformable_groups", &DeformableConv2DAttrs::deformable_groups, "Groups of channels with offsets alike."),
      field("groups", &DeformableConv2DAttrs::groups, "Number of independent groups of channels."),
      field("channels", &DeformableConv2DAttrs::channels, "Number of output channels; None: from the weight."),
      field("kernel_size", &DeformableConv2DAttrs::kernel_size, "Extents of the window; None: from the weight."),
      field("data_layout", &DeformableConv2DAttrs::data_layout, "\"NCHW\"."),
      field("kernel_layout", &DeformableConv2DAttrs::kernel_layout, "\"OIHW\"."),
      field("out_layout", &DeformableConv2DAttrs::out_layout, "\"NCHW\", or empty."),
      field("out_dtype", &DeformableConv2DAttrs::out_dtype, "Element type of the result; None: of the data.")};
};

Result<Type> infer(const DeformableConv2DAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* offset, tensor_input(in, 1, "offset"));
  RELAY_ASSIGN(const TensorType* weight, tensor_input(in, 2, "weight"));
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
  Result<Type> out = nn::infer_conv(2, plain, {in[0], in[2]});
  if (!out) return constraint("C3", "data and weight do not fit: {}", out.errors().front().message);
  // (C4) There are two offsets for each tap, and deformable group of channels, at each place of the result.
  const Dims& shape = shape_of(*out);
  if (a.deformable_groups < 1 || !divides(dim(a.deformable_groups), data->shape[1]))
    return constraint("C4", "deformable_groups {} must be positive and divide {} channels", a.deformable_groups,
                      scalar::str(data->shape[1]));
  Dims wanted = {shape[0], weight->shape[2] * weight->shape[3] * (2 * a.deformable_groups), shape[2], shape[3]};
  wanted = simplified(std::move(wanted));
  if (!agree(wanted, offset->shape))
    return constraint("C4", "offset {} should be {}", text(offset->shape), text(wanted));
  return out;
}

te::Tensors compute(const DeformableConv2DAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor &data = in[0], &offset = in[1], &weight = in[2];
  const DType wide = accumulator(data->dtype), sum_dtype = accumulator(dtype_of(out));
  const Ints strides = per_axis(a.strides, 2), dilation = per_axis(a.dilation, 2), pad = padding_sides(a.padding, 2);
  const Exprs& shape = shape_of(out);
  const Expr per_offset = scalar::simplify(floordiv(data->shape[1], a.deformable_groups));
  // Data under tap (ky, kx) of the window at (y, x): [n, c, ky, kx, y, x]
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
                    return value;
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

}  // namespace

OpDef nn_deformable_conv2d() {
  return define<DeformableConv2DAttrs>(
      {.name = "nn.deformable_conv2d",
       .doc = "Two-dimensional convolution whose taps are moved by offsets.",
       .inputs = {{"data", "(N, C, H, W)"},
                  {"offset", "(N, 2 * deformable_groups * KH * KW, H', W'): y and x in turn"},
                  {"weight", "(O, C / groups, KH, KW)"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .compute = compute,
       .oracle = "deformable_conv2d(data, offset, weight, strides, padding, dilation, deformable_groups, groups)",
       // The place of a sample is rounded in another order in kernels, and its weights with it.
       .examples = {{.inputs = {"(1, 2, 5, 6)", "(1, 18, 3, 4)", "(3, 2, 3, 3)"},
                     .symbolic = {"(n, 2, 5, 6)", "(n, 18, 3, 4)", "(3, 2, 3, 3)"},
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

}  // namespace relay::ops
