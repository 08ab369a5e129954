// Transposed convolution over any number of axes, the basis of nn.conv2d_transpose and nn.conv3d_transpose: the
// gradient of a convolution with respect to its data. Every element of data, times the weight, is added to a window of
// the result:
//
//   out[n, o, p * stride + k * dilation - before..] += data[n, c, p..] * weight[c, o, k..]
//
// Computed as a convolution with the reversed weight, over data with stride - 1 zeros between its rows (and columns)
// and zeros around them, which is a separate stage.
#pragma once

#include "relay/op/nn/conv/conv.h"

namespace relay::op::nn {

struct ConvTransposeAttrs : ConvAttrs {
  Ints output_padding;
};

// The attributes with the defaults for this number of axes.
template <size_t axes>
struct ConvTransposeOf : ConvTransposeAttrs {
  ConvTransposeOf() {
    strides = dilation = Ints(axes, 1), padding = output_padding = Ints(axes, 0);
    data_layout = "NC" + window_letters(axes), kernel_layout = "IO" + window_letters(axes);
  }
  static constexpr auto fields = std::tuple{
      field("channels", &ConvTransposeOf::channels, "Number of output channels; None: that of the weight."),
      field("kernel_size", &ConvTransposeOf::kernel_size, "Extents of the window; None: those of the weight."),
      field("strides", &ConvTransposeOf::strides, "Step of the window in the result along each axis."),
      field("output_padding", &ConvTransposeOf::output_padding,
            "Elements added at the end of each axis of the result."),
      field("padding", &ConvTransposeOf::padding,
            "Elements cut off the result: one value, one per axis, or the values before all axes followed by those "
            "after all axes."),
      field("dilation", &ConvTransposeOf::dilation, "Distance between two taps of the window along each axis."),
      field("groups", &ConvTransposeOf::groups, "Number of independent groups of channels."),
      field("data_layout", &ConvTransposeOf::data_layout, "Order of the data's axes."),
      field("kernel_layout", &ConvTransposeOf::kernel_layout,
            "Order of the weight's axes; I are the channels of the data."),
      field("out_layout", &ConvTransposeOf::out_layout, "Order of the result's axes; empty: the same as data_layout."),
      field("out_dtype", &ConvTransposeOf::out_dtype,
            "Element type of the sum and the result; None: that of the data.")};
};

Result<Type> infer_conv_transpose(size_t axes, const ConvTransposeAttrs& a, const Types& in);
te::Tensors compute_conv_transpose(size_t axes, const ConvTransposeAttrs& a, const te::Tensors& in, const Type& out);
// For two or three axes; empty if the kernel's extents are not numbers.
ir::Exprs conv_transpose_gradient(size_t axes, const ConvTransposeAttrs& a, const Adjoint& of);
// The expected value, for OpSpec::oracle.
std::string conv_transpose_oracle(size_t axes);

// Everything except name, documentation, examples and rejects.
template <size_t axes>
OpSpec<ConvTransposeOf<axes>> conv_transpose_spec() {
  using Attrs = ConvTransposeOf<axes>;
  OpSpec<Attrs> spec;
  spec.inputs = {{"data", format("(N, C, {}), in the order of data_layout", spaced_letters(axes))},
                 {"weight", format("(C, O / groups, {}), in the order of kernel_layout", spaced_letters(axes, "K"))}};
  spec.fusion = Fusion::OutputFusable;
  spec.infer = [](const Attrs& a, const Types& in) { return infer_conv_transpose(axes, a, in); };
  spec.complete = [](const Attrs& a, Types in) {
    return with_weight(std::move(in), a.data_layout, a.kernel_layout, a.channels, a.kernel_size, a.groups, true);
  };
  spec.compute = [](const Attrs& a, const te::Tensors& in, const Type& out) {
    return compute_conv_transpose(axes, a, in, out);
  };
  if (axes > 1) spec.gradient = [](const Attrs& a, const Adjoint& of) { return conv_transpose_gradient(axes, a, of); };
  spec.oracle = conv_transpose_oracle(axes);
  return spec;
}

}  // namespace relay::op::nn
