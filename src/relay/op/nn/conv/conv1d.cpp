// nn.conv1d: convolution along W; the formula is that of conv.h.
#include "relay/op/nn/conv/conv.h"

namespace relay::ops {
namespace conv1d_cpp {
namespace {

// A two-dimensional convolution of a single row.
ir::Expr definition(const nn::ConvOf<1>& a, const ir::Exprs& in) {
  const Ints pad = padding_sides(a.padding, 1);
  op::AttrValues attrs = {
      {"strides", Ints{1, per_axis(a.strides, 1)[0]}}, {"dilation", Ints{1, per_axis(a.dilation, 1)[0]}},
      {"padding", Ints{0, pad[0], 0, pad[1]}},         {"groups", a.groups},
      {"data_layout", nn::with_row(a.data_layout)},    {"kernel_layout", nn::with_row(a.kernel_layout)},
      {"out_layout", nn::with_row(a.out_layout)}};
  if (a.out_dtype) attrs.push_back({"out_dtype", *a.out_dtype});
  const ir::Expr row =
      grad::call("nn.conv2d", {nn::as_row(in[0], a.data_layout), nn::as_row(in[1], a.kernel_layout)}, attrs);
  return nn::without_row(row, a.out_layout.empty() ? a.data_layout : a.out_layout);
}

}  // namespace
}  // namespace conv1d_cpp

OpDef nn_conv1d() {
  using namespace conv1d_cpp;
  op::OpSpec<nn::ConvOf<1>> spec = nn::conv_spec<1>();
  spec.name = "nn.conv1d", spec.definition = definition;
  spec.doc = "One-dimensional convolution of data with weight.";
  spec.examples = {
      {.inputs = {"(2, 3, 12)", "(4, 3, 3)"}, .attrs = "padding=[1]", .symbolic = {"(n, 3, w)", "(4, 3, 3)"}},
      {.inputs = {"(1, 4, 13)", "(6, 2, 3)"},
       .attrs = "groups=2, strides=[2], padding=[2, 1], dilation=[2]",
       .symbolic = {"(1, 4, w)", "(6, 2, 3)"}},
      {.inputs = {"(1, 5, 9)", "(5, 1, 4)"}, .attrs = "groups=5"},
      {.inputs = {"(1, 9, 3)", "(3, 3, 4)"}, .attrs = "data_layout=\"NWC\", kernel_layout=\"WIO\""},
      {.inputs = {"(1, 80, 3000)", "(384, 80, 3)"}, .attrs = "padding=[1]", .bench = true},
      {.inputs = {"(1, 384, 3000)", "(384, 384, 3)"}, .attrs = "strides=[2], padding=[1]", .bench = true},
      {.inputs = {"(1, 256, 501)", "(256, 1, 31)"}, .attrs = "padding=[15], groups=256", .bench = true}};
  spec.rejects = {{{"(1, 3, 8)", "(4, 3, 3)"}, "data_layout=\"NCH\"", "C1"},
                  {{"(1, 3, 8, 1)", "(4, 3, 3)"}, "", "C2"},
                  {{"(1, 3, 8)", "(4, 3, 3)"}, "strides=[1, 1]", "C3"},
                  {{"(1, 3, 8)", "(4, 3, 3) int8"}, "", "C4"},
                  {{"(1, 4, 8)", "(4, 3, 3)"}, "", "C5"},
                  {{"(1, 4, 8)", "(5, 2, 3)"}, "groups=2", "C6"},
                  {{"(1, 3, 8)", "(4, 3, 3)"}, "kernel_size=[4]", "C7"},
                  {{"(1, 3, 2)", "(4, 3, 3)"}, "", "C8"}};
  return define<nn::ConvOf<1>>(std::move(spec), "Conv1DAttrs");
}

}  // namespace relay::ops
