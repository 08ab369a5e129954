// nn.conv2d: convolution along H and W; the formula is that of conv.h. Layouts may have blocks (blocked.h).
#include "relay/op/nn/conv/blocked.h"
#include "relay/op/nn/conv/conv.h"

namespace relay::ops {
namespace conv2d_cpp {

// Separate lists, not inlined: making all of them at once needs more stack than a small thread has.
[[gnu::noinline]] static std::vector<Example> examples() {
  return {
      {.inputs = {"(1, 3, 8, 8)", "(4, 3, 3, 3)"},
       .attrs = "padding=[1, 1]",
       .symbolic = {"(n, 3, h, w)", "(4, 3, 3, 3)"}},
      {.inputs = {"(2, 5, 9, 7)", "(6, 5, 1, 1)"}, .symbolic = {"(n, c, 9, 7)", "(6, c, 1, 1)"}},
      {.inputs = {"(1, 3, 11, 13)", "(8, 3, 5, 3)"},
       .attrs = "strides=[2, 3], padding=[1, 0, 2, 1], channels=8, kernel_size=[5, 3]",
       .symbolic = {"(n, 3, h, w)", "(8, 3, 5, 3)"}},
      {.inputs = {"(1, 2, 12, 12)", "(3, 2, 3, 3)"}, .attrs = "dilation=[2, 3], padding=[2]"},
      {.inputs = {"(1, 6, 7, 7)", "(4, 3, 3, 3)"},
       .attrs = "groups=2, padding=[1, 1]",
       .symbolic = {"(n, 6, h, w)", "(4, 3, 3, 3)"}},
      {.inputs = {"(1, 6, 9, 9)", "(6, 1, 3, 3)"},
       .attrs = "groups=6, padding=[1, 1], strides=[2, 2]",
       .symbolic = {"(n, 6, h, w)", "(6, 1, 3, 3)"}},
      {.inputs = {"(1, 3, 6, 6)", "(6, 1, 3, 3)"}, .attrs = "groups=3"},
      {.inputs = {"(1, 3, 6, 6)", "(3, 2, 3, 3)"}, .attrs = "groups=3, channels=6"},
      {.inputs = {"(1, 8, 10, 3)", "(3, 3, 3, 4)"},
       .attrs = "data_layout=\"NHWC\", kernel_layout=\"HWIO\", padding=[1, 1]",
       .symbolic = {"(n, h, w, 3)", "(3, 3, 3, 4)"}},
      {.inputs = {"(1, 8, 8, 6)", "(3, 3, 1, 6)"}, .attrs = "data_layout=\"NHWC\", kernel_layout=\"HWIO\", groups=6"},
      {.inputs = {"(1, 8, 8, 3)", "(3, 3, 3, 4)"},
       .attrs = "data_layout=\"NHWC\", kernel_layout=\"HWIO\", out_layout=\"NCHW\""},
      {.inputs = {"(1, 4, 6, 6) int8", "(2, 4, 3, 3) int8"},
       .attrs = "out_dtype=\"int32\"",
       .low = -128,
       .high = 127,
       .ulps = 0}};
}

// For benchmarks.
[[gnu::noinline]] static std::vector<Example> timed_examples() {
  return {
      {.inputs = {"(1, 64, 56, 56)", "(64, 64, 3, 3)"}, .attrs = "padding=[1, 1]", .bench = true},
      {.inputs = {"(1, 64, 56, 56) int8", "(64, 64, 3, 3) int8"},
       .attrs = "padding=[1, 1], out_dtype=\"int32\"",
       .bench = true},
      {.inputs = {"(1, 64, 56, 56)", "(64, 1, 3, 3)"}, .attrs = "padding=[1, 1], groups=64", .bench = true},
      {.inputs = {"(1, 3, 224, 224)", "(64, 3, 7, 7)"}, .attrs = "strides=[2, 2], padding=[3, 3]", .bench = true},
      {.inputs = {"(1, 3, 299, 299)", "(32, 3, 3, 3)"}, .attrs = "strides=[2, 2]", .bench = true},
      {.inputs = {"(1, 128, 56, 56)", "(128, 128, 3, 3)"}, .attrs = "strides=[2, 2], padding=[1, 1]", .bench = true},
      {.inputs = {"(1, 256, 14, 14)", "(256, 256, 3, 3)"}, .attrs = "padding=[1, 1]", .bench = true},
      {.inputs = {"(1, 512, 7, 7)", "(512, 512, 3, 3)"}, .attrs = "padding=[1, 1]", .bench = true},
      {.inputs = {"(8, 128, 28, 28)", "(128, 128, 3, 3)"}, .attrs = "padding=[1, 1]", .bench = true},
      {.inputs = {"(1, 37, 19, 23)", "(53, 37, 3, 3)"}, .attrs = "padding=[1, 1]", .bench = true},
      {.inputs = {"(1, 64, 56, 56)", "(256, 64, 1, 1)"}, .bench = true},
      {.inputs = {"(1, 256, 56, 56)", "(512, 256, 1, 1)"}, .attrs = "strides=[2, 2]", .bench = true},
      {.inputs = {"(1, 1024, 14, 14)", "(256, 1024, 1, 1)"}, .bench = true},
      {.inputs = {"(1, 320, 7, 7)", "(1280, 320, 1, 1)"}, .bench = true},
      {.inputs = {"(1, 14, 14, 256)", "(1, 1, 256, 256)"},
       .attrs = "data_layout=\"NHWC\", kernel_layout=\"HWIO\"",
       .bench = true},
      {.inputs = {"(1, 192, 17, 17)", "(192, 192, 1, 7)"}, .attrs = "padding=[0, 3]", .bench = true},
      {.inputs = {"(1, 48, 35, 35)", "(64, 48, 5, 5)"}, .attrs = "padding=[2, 2]", .bench = true},
      {.inputs = {"(1, 256, 28, 28)", "(256, 256, 3, 3)"}, .attrs = "padding=[2, 2], dilation=[2, 2]", .bench = true},
      {.inputs = {"(1, 96, 112, 112)", "(96, 1, 3, 3)"},
       .attrs = "padding=[1, 1], strides=[2, 2], groups=96",
       .bench = true},
      {.inputs = {"(1, 384, 14, 14)", "(384, 1, 3, 3)"}, .attrs = "padding=[1, 1], groups=384", .bench = true},
      {.inputs = {"(1, 240, 14, 14)", "(240, 1, 5, 5)"}, .attrs = "padding=[2, 2], groups=240", .bench = true},
      {.inputs = {"(1, 960, 7, 7)", "(960, 1, 3, 3)"}, .attrs = "padding=[1, 1], groups=960", .bench = true},
      {.inputs = {"(1, 50, 33, 35)", "(50, 1, 3, 3)"}, .attrs = "padding=[1, 1], groups=50", .bench = true},
      {.inputs = {"(1, 56, 56, 144)", "(3, 3, 1, 144)"},
       .attrs = "data_layout=\"NHWC\", kernel_layout=\"HWIO\", padding=[1, 1], groups=144",
       .bench = true}};
}

// Blocked, and in groups of several channels.
[[gnu::noinline]] static std::vector<Example> more_examples() {
  return {{.inputs = {"(1, 2, 6, 7, 4)", "(2, 2, 3, 3, 4, 4)"},
           .attrs = "data_layout=\"NCHW4c\", kernel_layout=\"OIHW4i4o\", padding=[1, 1]",
           .symbolic = {"(n, 2, h, w, 4)", "(2, 2, 3, 3, 4, 4)"}},
          // 72 products, added in storage order.
          {.inputs = {"(1, 2, 6, 7, 2, 4)", "(8, 8, 3, 3)"},
           .attrs = "data_layout=\"NCHW2n4c\", out_layout=\"NHWC\"",
           .ulps = 8},
          {.inputs = {"(1, 128, 28, 28)", "(128, 32, 3, 3)"}, .attrs = "padding=[1, 1], groups=4", .bench = true},
          {.inputs = {"(1, 256, 28, 28)", "(256, 8, 3, 3)"}, .attrs = "padding=[1, 1], groups=32", .bench = true},
          {.inputs = {"(1, 116, 28, 28)", "(116, 29, 1, 1)"}, .attrs = "groups=4", .bench = true}};
}

}  // namespace conv2d_cpp

OpDef nn_conv2d() {
  using namespace conv2d_cpp;
  op::OpSpec<nn::ConvOf<2>> spec = nn::conv_spec<2>();
  spec.name = "nn.conv2d";
  nn::allow_blocks<nn::ConvOf<2>, nn::ConvAttrs>(spec, {&nn::ConvAttrs::data_layout, &nn::ConvAttrs::kernel_layout},
                                                 &nn::ConvAttrs::out_layout);
  spec.doc = "Two-dimensional convolution of data with weight.";
  spec.examples = examples();
  for (std::vector<Example> (*more)() : {timed_examples, more_examples})
    for (Example& e : more()) spec.examples.push_back(std::move(e));
  spec.rejects = {{{"(1, 3, 8, 8)", "(4, 3, 3, 3)"}, "data_layout=\"NCHWc\"", "C1"},
                  {{"(3, 8, 8)", "(4, 3, 3, 3)"}, "", "C2"},
                  {{"(1, 3, 8, 8)", "(4, 3, 3, 3)"}, "strides=[0, 1]", "C3"},
                  {{"(1, 3, 8, 8)", "(4, 3, 3, 3)"}, "padding=[1, 2, 3]", "C3"},
                  {{"(1, 3, 8, 8)", "(4, 3, 3, 3) float16"}, "", "C4"},
                  {{"(1, 4, 8, 8)", "(4, 3, 3, 3)"}, "", "C5"},
                  {{"(1, 4, 8, 8)", "(4, 2, 3, 3)"}, "groups=3", "C5"},
                  {{"(1, 4, 8, 8)", "(5, 2, 3, 3)"}, "groups=2", "C6"},
                  {{"(1, 3, 8, 8)", "(4, 3, 3, 3)"}, "channels=5", "C7"},
                  {{"(1, 3, 8, 8)", "(4, 3, 3, 3)"}, "kernel_size=[5, 5]", "C7"},
                  {{"(1, 3, 2, 8)", "(4, 3, 3, 3)"}, "", "C8"}};
  return define<nn::ConvOf<2>>(std::move(spec), "Conv2DAttrs");
}

}  // namespace relay::ops
