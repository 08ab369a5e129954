// combine_parallel_dense: dense layers of the same data become one with all their weights.
//
//   (nn.dense(%x, %a), nn.dense(%x, %b), nn.dense(%x, %c))
//     becomes   split(nn.dense(%x, concatenate((%a, %b, %c), axis=0)), ..., axis=1)
//
// From three on (option min_branches).
#include "relay/transform/attributes.h"
#include "relay/transform/combine_parallel.h"

namespace relay::transform {

Result<ir::Module> combine_parallel_dense(const ir::Module& module, PassContext& context) {
  auto axes = [](const ir::Call& call) -> std::pair<int64_t, int64_t> {
    const ir::TensorType* data = ir::as<ir::TensorType>(call.args[0]->type);
    return {0, static_cast<int64_t>(data->shape.size()) - 1};
  };
  return combine_parallel(module, {"nn.dense", "units", axes}, context.count("combine_parallel_dense.min_branches"));
}

}  // namespace relay::transform
