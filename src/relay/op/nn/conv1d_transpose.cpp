// nn.conv1d_transpose: transposed convolution along W; the formula is that of conv_transpose.h.
#include "relay/op/nn/conv_transpose.h"

namespace relay::ops {

OpDef nn_conv1d_transpose() {
  op::OpSpec<nn::ConvTransposeOf<1>> spec = nn::conv_transpose_spec<1>();
  spec.name = "nn.conv1d_transpose";
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
                  {{"(1, 3, 8)", "(3, 4, 3)"}, "output_padding=[1]", "C3"},
                  {{"(1, 3, 8)", "(3, 4, 3) float64"}, "", "C4"},
                  {{"(1, 3, 8)", "(4, 3, 3)"}, "", "C5"},
                  {{"(1, 3, 8)", "(3, 4, 3)"}, "channels=3", "C6"},
                  {{"(1, 3, 2)", "(3, 4, 3)"}, "padding=[3]", "C7"}};
  return define<nn::ConvTransposeOf<1>>(std::move(spec), "Conv1DTransposeAttrs");
}

}  // namespace relay::ops
