// nn.conv2d_backward_weight: the gradient of a convolution with respect to its weight
//
//   out[o, c, k..] = sum(n, p..) grad[n, o, p..] * data[n, g(o) * C/groups + c, p * stride + k * dilation - before..]
//
// where data is 0 outside of its extents and g(o) is the group of channel o (conv.h).
#include "relay/op/nn/conv/conv.h"

namespace relay::ops {
namespace conv2d_backward_weight_cpp {
namespace {

struct Conv2DBackwardWeightAttrs {
  Ints strides = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  int64_t groups = 1;
  OptInt channels;
  Ints kernel_size;
  std::string data_layout = "NCHW", kernel_layout = "NCHW", out_layout = "OIHW";
  OptDType out_dtype;
  static constexpr auto fields = std::tuple{
      field("strides", &Conv2DBackwardWeightAttrs::strides, "Step of the window along each axis."),
      field("padding", &Conv2DBackwardWeightAttrs::padding,
            "Zero padding around the data: one value, one per axis, or the values before all axes followed by those "
            "after all axes."),
      field("dilation", &Conv2DBackwardWeightAttrs::dilation, "Distance between two taps of the window."),
      field("groups", &Conv2DBackwardWeightAttrs::groups, "Number of independent groups of channels."),
      field("channels", &Conv2DBackwardWeightAttrs::channels, "Number of output channels; None: that of the gradient."),
      required_field("kernel_size", &Conv2DBackwardWeightAttrs::kernel_size, "Extents of the window."),
      field("data_layout", &Conv2DBackwardWeightAttrs::data_layout, "Order of the gradient's axes."),
      field("kernel_layout", &Conv2DBackwardWeightAttrs::kernel_layout, "Order of the data's axes."),
      field("out_layout", &Conv2DBackwardWeightAttrs::out_layout, "Order of the result's axes."),
      field("out_dtype", &Conv2DBackwardWeightAttrs::out_dtype, "Element type of the result; None: that of the data.")};
};

Result<Type> infer(const Conv2DBackwardWeightAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* grad, tensor_input(in, 0, "grad"));
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 1, "data"));
  // (C1) Layouts are orders of NCHW, and of OIHW.
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "data_layout", a.data_layout, "NCHW"));
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "kernel_layout", a.kernel_layout, "NCHW"));
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "out_layout", a.out_layout, "OIHW"));
  // (C2) Both have four axes, and one element type.
  RELAY_RETURN_IF_ERROR(expect_rank("C2", grad, 4, "grad"));
  RELAY_RETURN_IF_ERROR(expect_rank("C2", data, 4, "data"));
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", grad, "grad", data, "data"));
  // (C3) Strides, dilation, window and groups are positive, padding is not negative.
  RELAY_ASSIGN(Ints strides, per_axis("C3", "strides", a.strides, 2));
  RELAY_ASSIGN(Ints dilation, per_axis("C3", "dilation", a.dilation, 2));
  RELAY_ASSIGN(Ints k, per_axis("C3", "kernel_size", a.kernel_size, 2));
  RELAY_ASSIGN(Ints pad, padding_sides("C3", a.padding, 2));
  if (a.groups < 1) return constraint("C3", "groups must be positive, but is {}", a.groups);
  auto of = [](const TensorType* t, const std::string& layout, char letter) { return t->shape[layout.find(letter)]; };
  // (C4) grad has the shape of such a convolution's result.
  Dim channels = of(grad, a.data_layout, 'C'), inputs = of(data, a.kernel_layout, 'C');
  bool fits = agree(of(grad, a.data_layout, 'N'), of(data, a.kernel_layout, 'N'));
  for (size_t d = 0; d < 2; ++d)
    fits = fits && agree(of(grad, a.data_layout, "HW"[d]), window_extent(of(data, a.kernel_layout, "HW"[d]), dim(k[d]),
                                                                         strides[d], pad[d], pad[2 + d], dilation[d]));
  if (!fits)
    return constraint("C4", "grad {} does not have the shape of a convolution of data {} with kernel_size {}",
                      text(grad->shape), text(data->shape), text(k));
  // (C5) Groups divide the channels of both; channels, if set, are the gradient's.
  if (!divides(dim(a.groups), channels) || !divides(dim(a.groups), inputs))
    return constraint("C5", "{} groups do not divide {} and {} channels", a.groups, scalar::str(channels),
                      scalar::str(inputs));
  if (a.channels && !agree(dim(*a.channels), channels))
    return constraint("C5", "channels is {}, but grad has {}", *a.channels, scalar::str(channels));
  Dims out(4);
  out[a.out_layout.find('O')] = channels, out[a.out_layout.find('I')] = floordiv(inputs, a.groups);
  out[a.out_layout.find('H')] = dim(k[0]), out[a.out_layout.find('W')] = dim(k[1]);
  return ir::tensor_type(simplified(std::move(out)), a.out_dtype.value_or(data->dtype));
}

te::Tensors compute(const Conv2DBackwardWeightAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor& grad = in[0];
  const std::string &gl = a.data_layout, &dl = a.kernel_layout, &ol = a.out_layout;
  Ints strides = per_axis(a.strides, 2), dilation = per_axis(a.dilation, 2), pad = padding_sides(a.padding, 2);
  Ints before(4), after(4);
  for (size_t d = 0; d < 2; ++d) before[dl.find("HW"[d])] = pad[d], after[dl.find("HW"[d])] = pad[2 + d];
  te::Tensor data = padded(in[1], before, after, imm(0, in[1]->dtype));
  DType wide = accumulator(dtype_of(out));
  Exprs taps = {grad->shape[gl.find('N')], grad->shape[gl.find('H')], grad->shape[gl.find('W')]};
  Expr group_out = scalar::simplify(floordiv(shape_of(out)[ol.find('O')], a.groups)),
       group_in = shape_of(out)[ol.find('I')];
  te::Tensor sum =
      te::reduce("backward_weight", shape_of(out), taps, Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
        Exprs g(4), d(4);
        const Expr& o = i[ol.find('O')];
        g[gl.find('N')] = d[dl.find('N')] = r[0], g[gl.find('C')] = o;
        d[dl.find('C')] = a.groups == 1 ? i[ol.find('I')] : floordiv(o, group_out) * group_in + i[ol.find('I')];
        for (size_t s = 0; s < 2; ++s) {
          g[gl.find("HW"[s])] = r[1 + s];
          d[dl.find("HW"[s])] = r[1 + s] * strides[s] + i[ol.find("HW"[s])] * dilation[s];
        }
        return cast(wide, (*grad)(g)) * cast(wide, (*data)(d));
      });
  return {converted(sum, dtype_of(out))};
}

// It is linear in both, as the convolution is. With `dw` in place of the weight, the gradient of `grad` is the
// convolution, and that of the data is the convolution's data gradient for `grad`.
ir::Exprs gradient(const Conv2DBackwardWeightAttrs& a, const Adjoint& of) {
  const ir::Expr &grad = of.inputs[0], &data = of.inputs[1];
  const ir::Expr dw = grad::converted_as(of.gradient, of.output, data);
  dw->type = ir::tensor_type(grad::tensor(of.output).shape, grad::tensor(data).dtype);
  nn::ConvAttrs conv{a.strides, a.padding,       a.dilation,   a.groups,      {},
                     {},        a.kernel_layout, a.out_layout, a.data_layout, {}};
  const ir::Expr d_grad = grad::call("nn.conv2d", {data, dw},
                                     {{"strides", a.strides},
                                      {"padding", a.padding},
                                      {"dilation", a.dilation},
                                      {"groups", a.groups},
                                      {"data_layout", a.kernel_layout},
                                      {"kernel_layout", a.out_layout},
                                      {"out_layout", a.data_layout}});
  const ir::Exprs inputs = {data, dw}, both = nn::conv_gradient(2, conv, {inputs, grad, grad});
  return {d_grad, both.empty() ? nullptr : both[0]};
}

}  // namespace
}  // namespace conv2d_backward_weight_cpp

OpDef nn_conv2d_backward_weight() {
  using namespace conv2d_backward_weight_cpp;
  return define<Conv2DBackwardWeightAttrs>(
      {.name = "nn.conv2d_backward_weight",
       .doc = "The gradient of a two-dimensional convolution with respect to its weight.",
       .inputs = {{"grad", "the gradient of the result, (N, O, H', W') in the order of data_layout"},
                  {"data", "(N, C, H, W), in the order of kernel_layout"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .compute = compute,
       .gradient = gradient,
       .oracle = "conv2d_weight_gradient(order(grad, data_layout, 'NCHW'), order(data, kernel_layout, 'NCHW'), "
                 "kernel_size, strides, padding, dilation, groups, out_layout)",
       .examples = {{.inputs = {"(2, 4, 6, 5)", "(2, 3, 8, 7)"},
                     .attrs = "kernel_size=[3, 3]",
                     .symbolic = {"(n, 4, 6, 5)", "(n, 3, 8, 7)"}},
                    {.inputs = {"(1, 4, 4, 4)", "(1, 6, 7, 8)"},
                     .attrs = "kernel_size=[3, 2], strides=[2, 2], padding=[1, 0], groups=2"},
                    {.inputs = {"(1, 5, 5, 2)", "(1, 3, 9, 7)"},
                     .attrs = "kernel_size=[3], data_layout=\"NHWC\", out_layout=\"HWIO\", dilation=[2, 1]"}},
       .rejects = {{{"(1, 2, 6, 6)", "(1, 3, 8, 8)"}, "kernel_size=[3], out_layout=\"NCHW\"", "C1"},
                   {{"(2, 6, 6)", "(1, 3, 8, 8)"}, "kernel_size=[3]", "C2"},
                   {{"(1, 2, 6, 6)", "(1, 3, 8, 8)"}, "kernel_size=[0]", "C3"},
                   {{"(1, 2, 7, 6)", "(1, 3, 8, 8)"}, "kernel_size=[3]", "C4"},
                   {{"(1, 2, 6, 6)", "(1, 3, 8, 8)"}, "kernel_size=[3], groups=2", "C5"},
                   {{"(1, 2, 6, 6)", "(1, 3, 8, 8)"}, "kernel_size=[3], channels=3", "C5"}}},
      "Conv2DBackwardWeightAttrs");
}

}  // namespace relay::ops
