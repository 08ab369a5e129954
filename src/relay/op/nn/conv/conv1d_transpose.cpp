// nn.conv1d_transpose: transposed convolution along W; the formula is that of conv_transpose.h.
#include "relay/op/nn/conv/conv_transpose.h"

namespace relay::ops {
namespace conv1d_transpose_cpp {
namespace {

// A two-dimensional convolution of a single row.
ir::Expr definition(const nn::ConvTransposeOf<1>& a, const ir::Exprs& in) {
  const Ints pad = padding_sides(a.padding, 1);
  op::AttrValues attrs = {{"strides", Ints{1, per_axis(a.strides, 1)[0]}},
                          {"dilation", Ints{1, per_axis(a.dilation, 1)[0]}},
                          {"padding", Ints{0, pad[0], 0, pad[1]}},
                          {"output_padding", Ints{0, per_axis(a.output_padding, 1)[0]}},
                          {"groups", a.groups},
                          {"data_layout", nn::with_row(a.data_layout)},
                          {"kernel_layout", nn::with_row(a.kernel_layout)},
                          {"out_layout", nn::with_row(a.out_layout)}};
  if (a.out_dtype) attrs.push_back({"out_dtype", *a.out_dtype});
  const ir::Expr row =
      grad::call("nn.conv2d_transpose", {nn::as_row(in[0], a.data_layout), nn::as_row(in[1], a.kernel_layout)}, attrs);
  return nn::without_row(row, a.out_layout.empty() ? a.data_layout : a.out_layout);
}

}  // namespace
}  // namespace conv1d_transpose_cpp

OpDef nn_conv1d_transpose() {
  using namespace conv1d_transpose_cpp;
  op::OpSpec<nn::ConvTransposeOf<1>> spec = nn::conv_transpose_spec<1>();
  spec.name = "nn.conv1d_transpose", spec.definition = definition;
  spec.doc = "One-dimensional transposed convolution of data with weight.";
  spec.examples = {
      {.inputs = {"(1, 3, 6)", "(3, 4, 3)"}, .symbolic = {"(n, 3, w)", "(3, 4, 3)"}},
      {.inputs = {"(2, 3, 6)", "(3, 4, 4)"},
       .attrs = "strides=[2], padding=[1]",
       .symbolic = {"(n, 3, w)", "(3, 4, 4)"}},
      {.inputs = {"(1, 4, 5)", "(4, 3, 3)"},
       .attrs = "groups=2, strides=[3], padding=[1, 0], output_padding=[2], dilation=[2]"},
      {.inputs = {"(1, 5, 4)", "(3, 3, 4)"}, .attrs = "data_layout=\"NWC\", kernel_layout=\"WOI\", strides=[2]"}};
  spec.rejects = {{{"(1, 3, 8)", "(3, 4, 3)"}, "data_layout=\"NCHW\"", "C1"},
                  {{"(1, 3, 8, 8)", "(3, 4, 3)"}, "", "C2"},
                  {{"(1, 3, 8)", "(3, 4, 3)"}, "output_padding=[-1]", "C3"},
                  {{"(1, 3, 8)", "(3, 4, 3) float64"}, "", "C4"},
                  {{"(1, 3, 8)", "(4, 3, 3)"}, "", "C5"},
                  {{"(1, 3, 8)", "(3, 4, 3)"}, "channels=3", "C6"},
                  {{"(1, 3, 2)", "(3, 4, 3)"}, "padding=[3]", "C7"}};
  return define<nn::ConvTransposeOf<1>>(std::move(spec), "Conv1DTransposeAttrs");
}

}  // namespace relay::ops
