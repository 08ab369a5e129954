// nn.max_pool2d, nn.avg_pool2d: pools along H and W; the formulas are those of pool.h.
// Layouts may have blocks (blocked.h).
#include "relay/op/nn/conv/blocked.h"
#include "relay/op/nn/pool/pool.h"

namespace relay::ops {
namespace pool2d_cpp {
namespace {

std::vector<Example> examples(const std::string& more) {
  std::vector<Example> out = {
      {.inputs = {"(1, 3, 8, 8)"}, .attrs = "pool_size=[2, 2], strides=[2, 2]", .symbolic = {"(n, 3, h, w)"}},
      {.inputs = {"(2, 3, 9, 7)"},
       .attrs = "pool_size=[3, 3], strides=[2, 2], padding=[1, 1]",
       .symbolic = {"(n, c, h, w)"}},
      {.inputs = {"(1, 2, 7, 8)"}, .attrs = "pool_size=[3, 2], strides=[2, 3], padding=[1, 0, 2, 1]"},
      {.inputs = {"(1, 2, 7, 8)"},
       .attrs = "pool_size=[3, 3], strides=[2, 2], ceil_mode=True",
       .symbolic = {"(1, 2, h, w)"}},
      {.inputs = {"(1, 2, 6, 6)"}, .attrs = "pool_size=[2, 2], strides=[3, 3], padding=[1, 1], ceil_mode=True"},
      {.inputs = {"(1, 8, 7, 3)"},
       .attrs = "pool_size=[3, 3], layout=\"NHWC\", padding=[1, 1]",
       .symbolic = {"(n, h, w, 3)"}},
      {.inputs = {"(1, 2, 7, 8, 4)"},
       .attrs = "pool_size=[3, 2], strides=[2, 1], layout=\"NCHW4c\", padding=[1, 0]",
       .symbolic = {"(n, 2, h, w, 4)"}},
      {.inputs = {"(1, 2, 7, 8, 4)"}, .attrs = "pool_size=[2, 2], layout=\"NCHW4c\", out_layout=\"NHWC\""},
      {.inputs = {"(1, 64, 112, 112)"}, .attrs = "pool_size=[3, 3], strides=[2, 2], padding=[1, 1]", .bench = true},
      {.inputs = {"(1, 112, 112, 64)"},
       .attrs = "pool_size=[3, 3], strides=[2, 2], padding=[1, 1], layout=\"NHWC\"",
       .bench = true},
      {.inputs = {"(1, 35, 35, 192)"}, .attrs = "pool_size=[3, 3], padding=[1, 1], layout=\"NHWC\"", .bench = true},
      {.inputs = {"(1, 128, 56, 56)"}, .attrs = "pool_size=[2, 2], strides=[2, 2]", .bench = true}};
  if (!more.empty()) {
    std::vector<Example> base(out.begin() + 1, out.begin() + 8);
    for (Example& e : base) e.attrs += more, out.push_back(e);
  } else {
    out.push_back({.inputs = {"(1, 2, 9, 9)"}, .attrs = "pool_size=[3, 2], dilation=[2, 3], padding=[2, 1]"});
    out.push_back({.inputs = {"(1, 2, 9, 9)"}, .attrs = "pool_size=[3, 2], padding=[1, 0], skip_nan=True"});
  }
  return out;
}

std::vector<Reject> rejects() {
  return {{{"(1, 3, 8, 8)"}, "pool_size=[2, 2], layout=\"NCW\"", "C1"},
          {{"(3, 8, 8)"}, "pool_size=[2, 2]", "C2"},
          {{"(1, 3, 8, 8)"}, "pool_size=[2, 2], strides=[0, 0]", "C3"},
          {{"(1, 3, 8, 8)"}, "pool_size=[2, 2], padding=[2, 2]", "C4"},
          {{"(1, 3, 2, 8)"}, "pool_size=[3, 3]", "C5"}};
}

op::AttrValues values(const nn::PoolAttrs& a) {  // attributes of both pools
  return {{"pool_size", a.pool_size}, {"strides", a.strides},       {"dilation", a.dilation},  {"padding", a.padding},
          {"layout", a.layout},       {"out_layout", a.out_layout}, {"ceil_mode", a.ceil_mode}};
}

}  // namespace
}  // namespace pool2d_cpp

OpDef nn_max_pool2d() {
  using namespace pool2d_cpp;
  op::OpSpec<nn::MaxPoolOf<2>> spec = nn::max_pool_spec<2>("nn.max_pool2d");
  spec.examples = examples(""), spec.rejects = rejects();
  spec.gradient = [](const nn::MaxPoolOf<2>& a, const Adjoint& of) -> ir::Exprs {
    op::AttrValues attrs = values(a);
    attrs.push_back({"skip_nan", a.skip_nan});
    return {grad::call("nn.max_pool2d_grad", {of.gradient, of.inputs[0]}, attrs)};
  };
  nn::allow_blocks(spec);
  return define<nn::MaxPoolOf<2>>(std::move(spec), "MaxPool2DAttrs");
}

OpDef nn_avg_pool2d() {
  using namespace pool2d_cpp;
  op::OpSpec<nn::AvgPoolOf<2>> spec = nn::avg_pool_spec<2>("nn.avg_pool2d");
  spec.examples = examples(", count_include_pad=True"), spec.rejects = rejects();
  spec.gradient = [](const nn::AvgPoolOf<2>& a, const Adjoint& of) -> ir::Exprs {
    op::AttrValues attrs = values(a);
    attrs.push_back({"count_include_pad", a.count_include_pad});
    return {grad::call("nn.avg_pool2d_grad", {of.gradient, of.inputs[0]}, attrs)};
  };
  nn::allow_blocks(spec);
  return define<nn::AvgPoolOf<2>>(std::move(spec), "AvgPool2DAttrs");
}

}  // namespace relay::ops
