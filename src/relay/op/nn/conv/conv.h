// Convolution over any number of axes, the basis of nn.conv1d, nn.conv2d and nn.conv3d:
//
//   out[n, o, p..] = sum(c, k..) weight[o, c, k..] * data[n, g(o) * C/groups + c, p * stride + k * dilation - before..]
//
// where data is 0 outside of its extents and g(o) = o // (O/groups) is the group of output channel o. Letters name the
// axes: any order of NC and the spatial axes (W, HW, DHW) for the data and the result, and of OI and the spatial axes
// for the weight.
#pragma once

#include "relay/op/gradient.h"

namespace relay::op::nn {

struct ConvAttrs {
  Ints strides, padding, dilation;
  int64_t groups = 1;
  OptInt channels;
  OptInts kernel_size;
  std::string data_layout, kernel_layout, out_layout;
  OptDType out_dtype;
};

// The letters of the spatial axes: "HW"; in messages, "H, W".
std::string window_letters(size_t axes);
std::string spaced_letters(size_t axes, const char* before = "");
// Names of the axes of a result in that layout, for te::named_axes: "n c y x", with `channels` for the letter C.
std::string axis_names(const std::string& layout, const char* channels = "c");
// Names of the taps of a window over this number of axes: "ky kx".
std::string tap_names(size_t axes);

// The positions of the axes of the data, the weight (pools have none) and the result; s, k, out_s: the spatial axes.
struct WindowAxes {
  size_t n, c, o, i, out_n, out_c;
  std::vector<size_t> s, k, out_s;
  // Layouts such as "NHWC" and "OIHW"; an empty layout of the result defaults to that of the data.
  WindowAxes(size_t axes, const std::string& data, const std::string& weight, const std::string& out);
};

// The attributes with the defaults for this number of axes.
template <size_t axes>
struct ConvOf : ConvAttrs {
  ConvOf() {
    strides = dilation = Ints(axes, 1), padding = Ints(axes, 0);
    data_layout = "NC" + window_letters(axes), kernel_layout = "OI" + window_letters(axes);
  }
  static constexpr auto fields = std::tuple{
      field("strides", &ConvOf::strides, "Step of the window along each axis."),
      field("padding", &ConvOf::padding,
            "Zero padding around the data: one value, one per axis, or the values before all axes followed by those "
            "after all axes."),
      field("dilation", &ConvOf::dilation, "Distance between two taps of the window along each axis."),
      field("groups", &ConvOf::groups, "Number of independent groups of channels."),
      field("channels", &ConvOf::channels, "Number of output channels; None: that of the weight."),
      field("kernel_size", &ConvOf::kernel_size, "Extents of the window; None: those of the weight."),
      field("data_layout", &ConvOf::data_layout, "Order of the data's axes."),
      field("kernel_layout", &ConvOf::kernel_layout, "Order of the weight's axes."),
      field("out_layout", &ConvOf::out_layout, "Order of the result's axes; empty: the same as data_layout."),
      field("out_dtype", &ConvOf::out_dtype, "Element type of the sum and the result; None: that of the data.")};
};

// The inputs of a convolution or of a transposed one, and its attributes with a value for each axis.
struct ConvInputs {
  const TensorType *data, *weight;
  Ints strides, dilation, padding;  // padding: all befores and then all afters
};
// Shared constraints. (C1) Layouts are orders of NC, of `weight_letters` ("OI", "IO") and of the spatial axes.
// (C2) Data and weight have an axis for each letter. (C3) Strides, dilation and groups are positive, padding is not
// negative. (C4) Data and weight have one element type, unless out_dtype is set.
Result<ConvInputs> check_conv_inputs(size_t axes, const ConvAttrs& a, const char* weight_letters, const Types& in);
// The constraint `code`: kernel_size, if set, is that of the weight.
Status check_kernel_size(const char* code, const ConvAttrs& a, const Dims& window);

Result<Type> infer_conv(size_t axes, const ConvAttrs& a, const Types& in);
// Data padded with `value` as the attribute `padding` requires.
te::Tensor padded_data(size_t axes, const ConvAttrs& a, const te::Tensor& data, Expr value);
te::Tensors compute_conv(size_t axes, const ConvAttrs& a, const te::Tensors& in, const Type& out);
// The gradient of a convolution's weight, from data and the gradient `dy` of the result; two or three axes. The layouts
// and groups are those of the convolution, `extents` those of its kernel.
ir::Expr conv_weight_gradient(size_t axes, const ConvAttrs& a, const ir::Expr& data, const ir::Expr& dy,
                              const Ints& extents);
// `tensor`, whose axes have the letters `from`, transposed to the order `to`.
ir::Expr in_order(const ir::Expr& tensor, const std::string& from, const std::string& to);
// For two or three axes; empty if sizes that must be numbers are unknown.
ir::Exprs conv_gradient(size_t axes, const ConvAttrs& a, const Adjoint& of);
// Converts a one-dimensional convolution (along W) to a two-dimensional one over a single row: layouts with H before W,
// and tensors with and without that axis.
std::string with_row(std::string layout);
ir::Expr as_row(const ir::Expr& tensor, const std::string& layout);
ir::Expr without_row(ir::Expr tensor, const std::string& layout);
// The expected value, for OpSpec::oracle.
std::string conv_oracle(size_t axes);

// Everything except name, documentation, examples and rejects.
template <size_t axes>
OpSpec<ConvOf<axes>> conv_spec() {
  OpSpec<ConvOf<axes>> spec;
  spec.inputs = {{"data", format("(N, C, {}), in the order of data_layout", spaced_letters(axes))},
                 {"weight", format("(O, C / groups, {}), in the order of kernel_layout", spaced_letters(axes, "K"))}};
  spec.fusion = Fusion::OutputFusable;
  spec.infer = [](const ConvOf<axes>& a, const Types& in) { return infer_conv(axes, a, in); };
  spec.complete = [](const ConvOf<axes>& a, Types in) {
    return with_weight(std::move(in), a.data_layout, a.kernel_layout, a.channels, a.kernel_size, a.groups);
  };
  spec.compute = [](const ConvOf<axes>& a, const te::Tensors& in, const Type& out) {
    return compute_conv(axes, a, in, out);
  };
  if (axes > 1) spec.gradient = [](const ConvOf<axes>& a, const Adjoint& of) { return conv_gradient(axes, a, of); };
  spec.oracle = conv_oracle(axes);
  return spec;
}

}  // namespace relay::op::nn
