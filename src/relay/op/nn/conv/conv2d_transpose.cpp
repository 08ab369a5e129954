// nn.conv2d_transpose: transposed convolution along H and W; the formula is that of conv_transpose.h.
#include "relay/op/nn/conv/conv_transpose.h"

namespace relay::ops {
OpDef nn_conv2d_transpose() {
  op::OpSpec<nn::ConvTransposeOf<2>> spec = nn::conv_transpose_spec<2>();
  spec.name = "nn.conv2d_transpose";
  spec.doc = "Two-dimensional transposed convolution of data with weight.";
  spec.examples = {
      {.inputs = {"(1, 3, 5, 6)", "(3, 4, 3, 3)"}, .symbolic = {"(n, 3, h, w)", "(3, 4, 3, 3)"}},
      {.inputs = {"(1, 3, 5, 6)", "(3, 4, 4, 4)"},
       .attrs = "strides=[2, 2], padding=[1, 1]",
       .symbolic = {"(n, 3, h, w)", "(3, 4, 4, 4)"}},
      {.inputs = {"(1, 2, 4, 5)", "(2, 3, 3, 2)"},
       .attrs = "strides=[3, 2], padding=[1, 0, 2, 1], output_padding=[2, 1], dilation=[2, 1]"},
      {.inputs = {"(1, 4, 4, 4)", "(4, 3, 3, 3)"}, .attrs = "groups=2, strides=[2, 2]"},
      {.inputs = {"(1, 2, 4, 5)", "(2, 3, 3, 2)"}, .attrs = "strides=[2, 1], padding=[1, 0], output_padding=[3, 2]"},
      {.inputs = {"(1, 4, 5, 5)", "(4, 1, 3, 3)"}, .attrs = "groups=4, padding=[2, 2]"},
      {.inputs = {"(1, 4, 5, 3)", "(3, 3, 3, 4)"},
       .attrs = "data_layout=\"NHWC\", kernel_layout=\"HWIO\", strides=[2, 2]"},
      {.inputs = {"(1, 256, 16, 16)", "(256, 128, 4, 4)"}, .attrs = "strides=[2, 2], padding=[1, 1]", .bench = true},
      {.inputs = {"(1, 64, 64, 64)", "(64, 32, 2, 2)"}, .attrs = "strides=[2, 2]", .bench = true},
      {.inputs = {"(1, 100, 1, 1)", "(100, 512, 4, 4)"}, .bench = true},
      {.inputs = {"(1, 64, 28, 28)", "(64, 64, 3, 3)"},
       .attrs = "strides=[2, 2], padding=[1, 1], output_padding=[1, 1]",
       .bench = true}};
  spec.rejects = {{{"(1, 3, 8, 8)", "(3, 4, 3, 3)"}, "data_layout=\"NCDHW\"", "C1"},
                  {{"(1, 3, 8)", "(3, 4, 3, 3)"}, "", "C2"},
                  {{"(1, 3, 8, 8)", "(3, 4, 3, 3)"}, "output_padding=[-1, 0]", "C3"},
                  {{"(1, 3, 8, 8)", "(3, 4, 3, 3) float64"}, "", "C4"},
                  {{"(1, 3, 8, 8)", "(4, 3, 3, 3)"}, "", "C5"},
                  {{"(1, 3, 8, 8)", "(3, 4, 3, 3)"}, "groups=2", "C5"},
                  {{"(1, 3, 8, 8)", "(3, 4, 3, 3)"}, "channels=3", "C6"},
                  {{"(1, 3, 2, 2)", "(3, 4, 3, 3)"}, "padding=[3]", "C7"}};
  return define<nn::ConvTransposeOf<2>>(std::move(spec), "Conv2DTransposeAttrs");
}

}  // namespace relay::ops
