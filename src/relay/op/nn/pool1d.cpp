// nn.max_pool1d, nn.avg_pool1d: pools along W; the formulas are those of pool.h.
#include "relay/op/nn/pool.h"

namespace relay::ops {
namespace {

std::vector<Example> examples(const std::string& more) {
  std::vector<Example> out = {
      {.inputs = {"(1, 3, 8)"}, .attrs = "pool_size=[2], strides=[2]", .symbolic = {"(n, 3, w)"}},
      {.inputs = {"(2, 3, 9)"}, .attrs = "pool_size=[3], strides=[2], padding=[1]", .symbolic = {"(n, c, w)"}},
      {.inputs = {"(1, 2, 8)"}, .attrs = "pool_size=[3], strides=[2], padding=[1, 2], ceil_mode=True"},
      {.inputs = {"(1, 8, 3)"}, .attrs = "pool_size=[3], dilation=[2], layout=\"NWC\"", .symbolic = {"(n, w, 3)"}}};
  if (!more.empty()) {
    Example counted = out[1];
    counted.attrs += more;
    out.push_back(counted);
  }
  return out;
}

std::vector<Reject> rejects() {
  return {{{"(1, 3, 8)"}, "pool_size=[2], layout=\"NCHW\"", "C1"},
          {{"(3, 8)"}, "pool_size=[2]", "C2"},
          {{"(1, 3, 8)"}, "pool_size=[2], strides=[0]", "C3"},
          {{"(1, 3, 8)"}, "pool_size=[2], padding=[2]", "C4"},
          {{"(1, 3, 2)"}, "pool_size=[3]", "C5"}};
}

}  // namespace

OpDef nn_max_pool1d() {
  op::OpSpec<nn::MaxPoolOf<1>> spec = nn::max_pool_spec<1>("nn.max_pool1d");
  spec.examples = examples(""), spec.rejects = rejects();
  return define<nn::MaxPoolOf<1>>(std::move(spec), "MaxPool1DAttrs");
}

OpDef nn_avg_pool1d() {
  op::OpSpec<nn::AvgPoolOf<1>> spec = nn::avg_pool_spec<1>("nn.avg_pool1d");
  spec.examples = examples(", count_include_pad=True"), spec.rejects = rejects();
  return define<nn::AvgPoolOf<1>>(std::move(spec), "AvgPool1DAttrs");
}

}  // namespace relay::ops
