// nn.adaptive_avg_pool2d, nn.adaptive_max_pool2d: pools along H and W; the formulas are those of adaptive_pool.h.
#include "relay/op/nn/adaptive_pool.h"

namespace relay::ops {
namespace {

// A pool with windows side by side, where they are alike.
ir::Expr definition(const nn::AdaptivePoolOf<2>& a, const ir::Exprs& in, bool mean) {
  const Dims& shape = grad::tensor(in[0]).shape;
  Ints window;
  for (size_t d = 0; d < 2; ++d) {
    const Dim& extent = shape[a.layout.find("HW"[d])];
    const int64_t places = a.output_size.empty() ? 0 : per_axis(a.output_size, 2)[d];
    if (!scalar::is_int(extent) || (places && extent->ivalue % places != 0)) return nullptr;
    window.push_back(places ? extent->ivalue / places : 1);
  }
  return grad::call(mean ? "nn.avg_pool2d" : "nn.max_pool2d", {in[0]},
                    {{"pool_size", window}, {"strides", window}, {"layout", a.layout}, {"out_layout", a.out_layout}});
}

OpDef adaptive_pool(bool mean) {
  op::OpSpec<nn::AdaptivePoolOf<2>> spec = nn::adaptive_pool_spec<2>(mean);
  spec.examples = {{.inputs = {"(2, 3, 8, 6)"}, .attrs = "output_size=[4, 3]"},
                   {.inputs = {"(2, 3, 7, 9)"}, .attrs = "output_size=[1, 1]", .symbolic = {"(n, 3, h, w)"}},
                   {.inputs = {"(1, 2, 7, 10)"}, .attrs = "output_size=[3, 4]", .symbolic = {"(n, 2, h, w)"}},
                   {.inputs = {"(1, 3, 4, 2)"}, .attrs = "output_size=[5], layout=\"NHWC\""},
                   {.inputs = {"(1, 2, 3, 4)"}}};
  spec.rejects = {{{"(1, 3, 8, 8)"}, "layout=\"NCW\"", "C1"},
                  {{"(3, 8, 8)"}, "", "C2"},
                  {{"(1, 3, 8, 8)"}, "output_size=[0, 1]", "C3"}};
  spec.definition = [mean](const nn::AdaptivePoolOf<2>& a, const ir::Exprs& in) { return definition(a, in, mean); };
  return define<nn::AdaptivePoolOf<2>>(std::move(spec), "AdaptivePool2DAttrs");
}

}  // namespace

OpDef nn_adaptive_avg_pool2d() { return adaptive_pool(true); }
OpDef nn_adaptive_max_pool2d() { return adaptive_pool(false); }

}  // namespace relay::ops
