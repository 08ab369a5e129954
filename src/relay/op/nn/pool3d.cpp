// nn.max_pool3d, nn.avg_pool3d: pools along D, H and W; the formulas are those of pool.h.
#include "relay/op/nn/pool.h"

namespace relay::ops {
namespace {

std::vector<Example> examples(const std::string& more) {
  std::vector<Example> out = {
      {.inputs = {"(1, 3, 4, 6, 6)"}, .attrs = "pool_size=[2, 2, 2], strides=[2]", .symbolic = {"(n, 3, d, h, w)"}},
      {.inputs = {"(2, 3, 5, 7, 6)"},
       .attrs = "pool_size=[3, 3, 3], strides=[2, 2, 2], padding=[1]",
       .symbolic = {"(n, c, d, h, w)"}},
      {.inputs = {"(1, 2, 4, 7, 8)"}, .attrs = "pool_size=[1, 3, 2], strides=[1, 2, 3], padding=[0, 1, 0, 0, 2, 1]"},
      {.inputs = {"(1, 2, 4, 7, 5)"}, .attrs = "pool_size=[3], strides=[2], padding=[1], ceil_mode=True"},
      {.inputs = {"(1, 5, 6, 7, 3)"}, .attrs = "pool_size=[3], layout=\"NDHWC\", padding=[1]"},
      {.inputs = {"(1, 64, 16, 56, 56)"}, .attrs = "pool_size=[2], strides=[2]", .bench = true},
      {.inputs = {"(1, 64, 16, 56, 56)"}, .attrs = "pool_size=[3], strides=[2], padding=[1]", .bench = true}};
  if (!more.empty()) {
    std::vector<Example> base(out.begin() + 1, out.begin() + 5);
    for (Example& e : base) e.attrs += more, out.push_back(e);
  } else {
    out.push_back(
        {.inputs = {"(1, 2, 5, 6, 9)"}, .attrs = "pool_size=[3, 2, 2], dilation=[2, 1, 3], padding=[2, 1, 0]"});
  }
  return out;
}

std::vector<Reject> rejects() {
  return {{{"(1, 3, 4, 8, 8)"}, "pool_size=[2], layout=\"NCHW\"", "C1"},
          {{"(3, 4, 8, 8)"}, "pool_size=[2]", "C2"},
          {{"(1, 3, 4, 8, 8)"}, "pool_size=[2, 2]", "C3"},
          {{"(1, 3, 4, 8, 8)"}, "pool_size=[2], padding=[2]", "C4"},
          {{"(1, 3, 2, 8, 8)"}, "pool_size=[3]", "C5"}};
}

}  // namespace

OpDef nn_max_pool3d() {
  op::OpSpec<nn::MaxPoolOf<3>> spec = nn::max_pool_spec<3>("nn.max_pool3d");
  spec.examples = examples(""), spec.rejects = rejects();
  return define<nn::MaxPoolOf<3>>(std::move(spec), "MaxPool3DAttrs");
}

OpDef nn_avg_pool3d() {
  op::OpSpec<nn::AvgPoolOf<3>> spec = nn::avg_pool_spec<3>("nn.avg_pool3d");
  spec.examples = examples(", count_include_pad=True"), spec.rejects = rejects();
  return define<nn::AvgPoolOf<3>>(std::move(spec), "AvgPool3DAttrs");
}

}  // namespace relay::ops
