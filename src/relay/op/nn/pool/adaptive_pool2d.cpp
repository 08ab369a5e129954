// nn.adaptive_avg_pool2d, nn.adaptive_max_pool2d: pools along H and W; the formulas are those of adaptive_pool.h.
#include "relay/op/nn/pool/adaptive_pool.h"

namespace relay::ops {
namespace adaptive_pool2d_cpp {
namespace {

OpDef adaptive_pool(bool mean) {
  op::OpSpec<nn::AdaptivePoolOf<2>> spec = nn::adaptive_pool_spec<2>(mean);
  spec.examples = {{.inputs = {"(2, 3, 8, 6)"}, .attrs = "output_size=[4, 3]"},
                   {.inputs = {"(2, 3, 7, 9)"}, .attrs = "output_size=[1, 1]", .symbolic = {"(n, 3, h, w)"}},
                   {.inputs = {"(1, 2, 7, 10)"}, .attrs = "output_size=[3, 4]", .symbolic = {"(n, 2, h, w)"}},
                   {.inputs = {"(1, 3, 4, 2)"}, .attrs = "output_size=[5], layout=\"NHWC\""},
                   {.inputs = {"(1, 2, 7, 10, 3)"}, .attrs = "output_size=[3, 4], layout=\"NCHW3c\""},
                   {.inputs = {"(1, 2, 3, 4)"}}};
  spec.rejects = {{{"(1, 3, 8, 8)"}, "layout=\"NCW\"", "C1"},
                  {{"(3, 8, 8)"}, "", "C2"},
                  {{"(1, 3, 8, 8)"}, "output_size=[0, 1]", "C3"},
                  {{"(1, 3, 0, 8)"}, "", "C4"}};
  return define<nn::AdaptivePoolOf<2>>(std::move(spec), "AdaptivePool2DAttrs");
}

}  // namespace
}  // namespace adaptive_pool2d_cpp

OpDef nn_adaptive_avg_pool2d() {
  using namespace adaptive_pool2d_cpp;
  return adaptive_pool(true);
}
OpDef nn_adaptive_max_pool2d() {
  using namespace adaptive_pool2d_cpp;
  return adaptive_pool(false);
}

}  // namespace relay::ops
