// nn.max_pool3d, nn.avg_pool3d: pools along D, H and W; the formulas are those of pool.h.
// Layouts may have blocks (blocked.h).
#include "relay/op/nn/conv/blocked.h"
#include "relay/op/nn/pool/pool.h"

namespace relay::ops {
namespace pool3d_cpp {
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
      {.inputs = {"(1, 2, 4, 5, 6, 3)"}, .attrs = "pool_size=[2], layout=\"NCDHW3c\""},
      {.inputs = {"(1, 64, 16, 56, 56)"}, .attrs = "pool_size=[2], strides=[2]", .bench = true},
      {.inputs = {"(1, 64, 16, 56, 56)"}, .attrs = "pool_size=[3], strides=[2], padding=[1]", .bench = true}};
  if (!more.empty()) {
    std::vector<Example> base(out.begin() + 1, out.begin() + 6);
    for (Example& e : base) e.attrs += more, out.push_back(e);
  } else {
    out.push_back(
        {.inputs = {"(1, 2, 5, 6, 9)"}, .attrs = "pool_size=[3, 2, 2], dilation=[2, 1, 3], padding=[2, 1, 0]"});
    out.push_back({.inputs = {"(1, 2, 4, 5, 6)"}, .attrs = "pool_size=[2, 2, 3], skip_nan=True"});
  }
  return out;
}

// A pool along H and W of each D, and one along D of its result; for a mean both count the taps of their own axes. The
// first merges N and C into one axis, for which one of them must have a name.
ir::Expr definition(const char* pool2d, const nn::PoolAttrs& a, const ir::Exprs& in, const op::AttrValues& more) {
  const Ints k = per_axis(a.pool_size, 3), strides = per_axis(a.strides, 3), dilation = per_axis(a.dilation, 3),
             pad = padding_sides(a.padding, 3);
  const Dims& shape = grad::tensor(in[0]).shape;
  const Dim &n = shape[a.layout.find('N')], &c = shape[a.layout.find('C')];
  if (scalar::is_any(n) && scalar::is_any(c)) return nullptr;
  auto pool = [&](const ir::Expr& data, bool along_d) {
    auto of = [&](const Ints& v, size_t from, int64_t none) {
      return along_d ? Ints{v[from], none} : Ints{v[from + 1], v[from + 2]};
    };
    const Ints before = of(pad, 0, 0), after = of(pad, 3, 0);
    op::AttrValues attrs = {{"pool_size", of(k, 0, 1)},
                            {"strides", of(strides, 0, 1)},
                            {"dilation", of(dilation, 0, 1)},
                            {"padding", Ints{before[0], before[1], after[0], after[1]}},
                            {"layout", along_d ? "NHWC" : "NCHW"},
                            {"ceil_mode", a.ceil_mode}};
    attrs.insert(attrs.end(), more.begin(), more.end());
    return grad::call(pool2d, {data}, attrs);
  };
  auto extent = [](const Dim& d) { return scalar::is_any(d) ? dim(-1) : d; };
  const Dims split = {dim(-4), extent(n), extent(c), dim(0), dim(0), dim(0)};
  const ir::Expr images =
      grad::call("reshape", {nn::in_order(in[0], a.layout, "NCDHW")}, {{"newshape", Ints{-3, 0, 0, 0}}});
  const ir::Expr pooled = pool(pool(images, false), true);
  const ir::Expr volumes = grad::call("reshape", {pooled}, {{"newshape", split}});
  return nn::in_order(volumes, "NCDHW", a.out_layout.empty() ? a.layout : a.out_layout);
}

std::vector<Reject> rejects() {
  return {{{"(1, 3, 4, 8, 8)"}, "pool_size=[2], layout=\"NCHW\"", "C1"},
          {{"(3, 4, 8, 8)"}, "pool_size=[2]", "C2"},
          {{"(1, 3, 4, 8, 8)"}, "pool_size=[2, 2]", "C3"},
          {{"(1, 3, 4, 8, 8)"}, "pool_size=[2], padding=[2]", "C4"},
          {{"(1, 3, 2, 8, 8)"}, "pool_size=[3]", "C5"}};
}

}  // namespace
}  // namespace pool3d_cpp

OpDef nn_max_pool3d() {
  using namespace pool3d_cpp;
  op::OpSpec<nn::MaxPoolOf<3>> spec = nn::max_pool_spec<3>("nn.max_pool3d");
  spec.examples = examples(""), spec.rejects = rejects();
  spec.definition = [](const nn::MaxPoolOf<3>& a, const ir::Exprs& in) {
    return definition("nn.max_pool2d", a, in, {{"skip_nan", a.skip_nan}});
  };
  nn::allow_blocks(spec);
  return define<nn::MaxPoolOf<3>>(std::move(spec), "MaxPool3DAttrs");
}

OpDef nn_avg_pool3d() {
  using namespace pool3d_cpp;
  op::OpSpec<nn::AvgPoolOf<3>> spec = nn::avg_pool_spec<3>("nn.avg_pool3d");
  spec.examples = examples(", count_include_pad=True"), spec.rejects = rejects();
  spec.definition = [](const nn::AvgPoolOf<3>& a, const ir::Exprs& in) {
    return definition("nn.avg_pool2d", a, in, {{"count_include_pad", a.count_include_pad}});
  };
  nn::allow_blocks(spec);
  return define<nn::AvgPoolOf<3>>(std::move(spec), "AvgPool3DAttrs");
}

}  // namespace relay::ops
