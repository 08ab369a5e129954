// nn.conv3d: convolution along D, H and W; the formula is that of conv.h.
#include "relay/op/nn/conv/conv.h"

namespace relay::ops {

OpDef nn_conv3d() {
  op::OpSpec<nn::ConvOf<3>> spec = nn::conv_spec<3>();
  spec.name = "nn.conv3d";
  spec.doc = "Three-dimensional convolution of data with weight.";
  spec.examples = {
      {.inputs = {"(1, 3, 4, 6, 5)", "(4, 3, 3, 3, 3)"},
       .attrs = "padding=[1, 1, 1]",
       .symbolic = {"(n, 3, d, h, w)", "(4, 3, 3, 3, 3)"}},
      {.inputs = {"(2, 5, 3, 4, 7)", "(6, 5, 1, 1, 1)"}, .symbolic = {"(n, 5, 3, h, w)", "(6, 5, 1, 1, 1)"}},
      {.inputs = {"(1, 3, 7, 8, 9)", "(8, 3, 2, 3, 1)"},
       .attrs = "strides=[1, 2, 3], padding=[1, 0, 2, 0, 1, 1], dilation=[2, 1, 1], channels=8"},
      {.inputs = {"(1, 6, 4, 5, 5)", "(4, 3, 3, 3, 3)"}, .attrs = "groups=2, padding=[1]"},
      {.inputs = {"(1, 6, 4, 6, 6)", "(6, 1, 3, 3, 3)"},
       .attrs = "groups=6, padding=[1], strides=[2, 1, 2]",
       .symbolic = {"(n, 6, d, h, w)", "(6, 1, 3, 3, 3)"}},
      // 81 terms: sums in two orders differ by 2 units in the mean square, and in some of 480 results by 5.
      {.inputs = {"(1, 4, 6, 5, 3)", "(3, 3, 3, 3, 4)"},
       .attrs = "data_layout=\"NDHWC\", kernel_layout=\"DHWIO\", padding=[1]",
       .ulps = 8},
      {.inputs = {"(1, 4, 6, 5, 3)", "(3, 3, 3, 3, 4)"},
       .attrs = "data_layout=\"NDHWC\", kernel_layout=\"DHWIO\", out_layout=\"NCDHW\""},
      {.inputs = {"(1, 3, 16, 112, 112)", "(64, 3, 3, 3, 3)"}, .attrs = "padding=[1]", .bench = true},
      {.inputs = {"(1, 64, 16, 56, 56)", "(64, 64, 3, 3, 3)"}, .attrs = "padding=[1]", .bench = true},
      {.inputs = {"(1, 256, 4, 14, 14)", "(256, 256, 3, 3, 3)"}, .attrs = "padding=[1]", .bench = true},
      {.inputs = {"(1, 64, 8, 56, 56)", "(128, 64, 3, 3, 3)"}, .attrs = "strides=[2], padding=[1]", .bench = true},
      {.inputs = {"(1, 64, 8, 28, 28)", "(64, 1, 3, 3, 3)"}, .attrs = "groups=64, padding=[1]", .bench = true}};
  spec.rejects = {{{"(1, 3, 4, 8, 8)", "(4, 3, 3, 3, 3)"}, "data_layout=\"NCHW\"", "C1"},
                  {{"(3, 4, 8, 8)", "(4, 3, 3, 3, 3)"}, "", "C2"},
                  {{"(1, 3, 4, 8, 8)", "(4, 3, 3, 3, 3)"}, "strides=[1, 1]", "C3"},
                  {{"(1, 3, 4, 8, 8)", "(4, 3, 3, 3, 3) float16"}, "", "C4"},
                  {{"(1, 4, 4, 8, 8)", "(4, 3, 3, 3, 3)"}, "", "C5"},
                  {{"(1, 4, 4, 8, 8)", "(5, 2, 3, 3, 3)"}, "groups=2", "C6"},
                  {{"(1, 3, 4, 8, 8)", "(4, 3, 3, 3, 3)"}, "kernel_size=[3, 3, 5]", "C7"},
                  {{"(1, 3, 2, 8, 8)", "(4, 3, 3, 3, 3)"}, "", "C8"}};
  return define<nn::ConvOf<3>>(std::move(spec), "Conv3DAttrs");
}

}  // namespace relay::ops
