// nn.adaptive_avg_pool1d, nn.adaptive_max_pool1d: pools along W; the formulas are those of adaptive_pool.h.
#include "relay/op/nn/pool/adaptive_pool.h"

namespace relay::ops {
namespace adaptive_pool1d_cpp {
namespace {

OpDef adaptive_pool(bool mean) {
  op::OpSpec<nn::AdaptivePoolOf<1>> spec = nn::adaptive_pool_spec<1>(mean);
  spec.examples = {{.inputs = {"(2, 3, 8)"}, .attrs = "output_size=[4]"},
                   {.inputs = {"(2, 3, 9)"}, .attrs = "output_size=[1]", .symbolic = {"(n, 3, w)"}},
                   {.inputs = {"(1, 10, 2)"}, .attrs = "output_size=[4], layout=\"NWC\"", .symbolic = {"(n, w, 2)"}},
                   {.inputs = {"(1, 2, 3)"}}};
  spec.rejects = {{{"(1, 3, 8)"}, "layout=\"NCHW\"", "C1"},
                  {{"(3, 8)"}, "", "C2"},
                  {{"(1, 3, 8)"}, "output_size=[2, 1]", "C3"},
                  {{"(1, 3, 0)"}, "", "C4"}};
  return define<nn::AdaptivePoolOf<1>>(std::move(spec), "AdaptivePool1DAttrs");
}

}  // namespace
}  // namespace adaptive_pool1d_cpp

OpDef nn_adaptive_avg_pool1d() {
  using namespace adaptive_pool1d_cpp;
  return adaptive_pool(true);
}
OpDef nn_adaptive_max_pool1d() {
  using namespace adaptive_pool1d_cpp;
  return adaptive_pool(false);
}

}  // namespace relay::ops
