// nn.conv3d_transpose: transposed convolution along D, H and W; the formula is that of conv_transpose.h.
#include "relay/op/nn/conv/conv_transpose.h"

namespace relay::ops {

OpDef nn_conv3d_transpose() {
  op::OpSpec<nn::ConvTransposeOf<3>> spec = nn::conv_transpose_spec<3>();
  spec.name = "nn.conv3d_transpose";
  spec.doc = "Three-dimensional transposed convolution of data with weight.";
  spec.examples = {
      {.inputs = {"(1, 3, 3, 4, 5)", "(3, 4, 3, 3, 3)"}, .symbolic = {"(n, 3, d, h, w)", "(3, 4, 3, 3, 3)"}},
      {.inputs = {"(1, 3, 2, 4, 5)", "(3, 4, 4, 4, 4)"}, .attrs = "strides=[2, 2, 2], padding=[1]"},
      {.inputs = {"(1, 2, 3, 4, 5)", "(2, 3, 2, 3, 2)"},
       .attrs = "strides=[1, 3, 2], padding=[0, 1, 0, 1, 2, 1], output_padding=[0, 2, 1], dilation=[1, 2, 1]"},
      {.inputs = {"(1, 4, 3, 4, 4)", "(4, 3, 3, 3, 3)"}, .attrs = "groups=2, strides=[2]"},
      {.inputs = {"(1, 3, 4, 5, 3)", "(3, 3, 3, 3, 4)"},
       .attrs = "data_layout=\"NDHWC\", kernel_layout=\"DHWIO\", strides=[2]"},
      {.inputs = {"(1, 64, 8, 14, 14)", "(64, 32, 2, 2, 2)"}, .attrs = "strides=[2]", .bench = true}};
  spec.rejects = {{{"(1, 3, 4, 8, 8)", "(3, 4, 3, 3, 3)"}, "data_layout=\"NCHW\"", "C1"},
                  {{"(1, 3, 8, 8)", "(3, 4, 3, 3, 3)"}, "", "C2"},
                  {{"(1, 3, 4, 8, 8)", "(3, 4, 3, 3, 3)"}, "output_padding=[-1, 0, 0]", "C3"},
                  {{"(1, 3, 4, 8, 8)", "(3, 4, 3, 3, 3) float64"}, "", "C4"},
                  {{"(1, 3, 4, 8, 8)", "(4, 3, 3, 3, 3)"}, "", "C5"},
                  {{"(1, 3, 4, 8, 8)", "(3, 4, 3, 3, 3)"}, "channels=3", "C6"},
                  {{"(1, 3, 2, 2, 2)", "(3, 4, 3, 3, 3)"}, "padding=[3]", "C7"}};
  return define<nn::ConvTransposeOf<3>>(std::move(spec), "Conv3DTransposeAttrs");
}

}  // namespace relay::ops
