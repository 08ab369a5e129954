// nn.max_pool1d, nn.avg_pool1d: pools along W; the formulas are those of pool.h. Layouts may have blocks (blocked.h).
#include "relay/op/nn/conv/blocked.h"
#include "relay/op/nn/pool/pool.h"

namespace relay::ops {
namespace pool1d_cpp {
namespace {

std::vector<Example> examples(const std::string& more) {
  std::vector<Example> out = {
      {.inputs = {"(1, 3, 8)"}, .attrs = "pool_size=[2], strides=[2]", .symbolic = {"(n, 3, w)"}},
      {.inputs = {"(2, 3, 9)"}, .attrs = "pool_size=[3], strides=[2], padding=[1]", .symbolic = {"(n, c, w)"}},
      {.inputs = {"(1, 2, 8)"}, .attrs = "pool_size=[3], strides=[2], padding=[1, 2], ceil_mode=True"},
      {.inputs = {"(1, 8, 3)"}, .attrs = "pool_size=[3], dilation=[2], layout=\"NWC\"", .symbolic = {"(n, w, 3)"}},
      {.inputs = {"(1, 2, 8, 4)"}, .attrs = "pool_size=[3], layout=\"NCW4c\""}};
  if (!more.empty()) {
    Example counted = out[1];
    counted.attrs += more;
    out.push_back(counted);
  } else {
    out.push_back({.inputs = {"(1, 2, 9)"}, .attrs = "pool_size=[3], padding=[1], skip_nan=True"});
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

// A pool along H and W of a single row.
ir::Expr definition(const char* pool2d, const nn::PoolAttrs& a, const ir::Exprs& in, op::AttrValues attrs) {
  const Ints pad = padding_sides(a.padding, 1);
  attrs.insert(attrs.end(), {{"pool_size", Ints{1, a.pool_size[0]}},
                             {"strides", Ints{1, a.strides[0]}},
                             {"dilation", Ints{1, a.dilation[0]}},
                             {"padding", Ints{0, pad[0], 0, pad[1]}},
                             {"layout", nn::with_row(a.layout)},
                             {"out_layout", nn::with_row(a.out_layout)},
                             {"ceil_mode", a.ceil_mode}});
  return nn::without_row(grad::call(pool2d, {nn::as_row(in[0], a.layout)}, attrs),
                         a.out_layout.empty() ? a.layout : a.out_layout);
}

}  // namespace
}  // namespace pool1d_cpp

OpDef nn_max_pool1d() {
  using namespace pool1d_cpp;
  op::OpSpec<nn::MaxPoolOf<1>> spec = nn::max_pool_spec<1>("nn.max_pool1d");
  spec.examples = examples(""), spec.rejects = rejects();
  spec.definition = [](const nn::MaxPoolOf<1>& a, const ir::Exprs& in) {
    return definition("nn.max_pool2d", a, in, {{"skip_nan", a.skip_nan}});
  };
  nn::allow_blocks(spec);
  return define<nn::MaxPoolOf<1>>(std::move(spec), "MaxPool1DAttrs");
}

OpDef nn_avg_pool1d() {
  using namespace pool1d_cpp;
  op::OpSpec<nn::AvgPoolOf<1>> spec = nn::avg_pool_spec<1>("nn.avg_pool1d");
  spec.examples = examples(", count_include_pad=True"), spec.rejects = rejects();
  spec.definition = [](const nn::AvgPoolOf<1>& a, const ir::Exprs& in) {
    return definition("nn.avg_pool2d", a, in, {{"count_include_pad", a.count_include_pad}});
  };
  nn::allow_blocks(spec);
  return define<nn::AvgPoolOf<1>>(std::move(spec), "AvgPool1DAttrs");
}

}  // namespace relay::ops
