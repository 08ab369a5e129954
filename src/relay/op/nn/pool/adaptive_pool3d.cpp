// nn.adaptive_avg_pool3d, nn.adaptive_max_pool3d: pools along D, H and W; the formulas are those of adaptive_pool.h.
#include "relay/op/nn/pool/adaptive_pool.h"

namespace relay::ops {
namespace adaptive_pool3d_cpp {
namespace {

OpDef adaptive_pool(bool mean) {
  op::OpSpec<nn::AdaptivePoolOf<3>> spec = nn::adaptive_pool_spec<3>(mean);
  spec.examples = {{.inputs = {"(2, 3, 4, 6, 5)"}, .attrs = "output_size=[2, 3, 5]"},
                   {.inputs = {"(1, 3, 4, 6, 5)"}, .attrs = "output_size=[1]", .symbolic = {"(n, 3, d, h, w)"}},
                   {.inputs = {"(1, 5, 4, 5, 2)"}, .attrs = "output_size=[2, 3, 3], layout=\"NDHWC\""}};
  spec.rejects = {{{"(1, 3, 4, 8, 8)"}, "layout=\"NCHW\"", "C1"},
                  {{"(3, 4, 8, 8)"}, "", "C2"},
                  {{"(1, 3, 4, 8, 8)"}, "output_size=[2, 1]", "C3"},
                  {{"(1, 3, 4, 0, 8)"}, "", "C4"}};
  return define<nn::AdaptivePoolOf<3>>(std::move(spec), "AdaptivePool3DAttrs");
}

}  // namespace
}  // namespace adaptive_pool3d_cpp

OpDef nn_adaptive_avg_pool3d() {
  using namespace adaptive_pool3d_cpp;
  return adaptive_pool(true);
}
OpDef nn_adaptive_max_pool3d() {
  using namespace adaptive_pool3d_cpp;
  return adaptive_pool(false);
}

}  // namespace relay::ops
