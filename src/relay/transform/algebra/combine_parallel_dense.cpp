// combine_parallel_dense: merges dense layers of the same data into one with all their weights.
//
//   (nn.dense(%x, %a), nn.dense(%x, %b), nn.dense(%x, %c))
//     becomes   split(nn.dense(%x, concatenate((%a, %b, %c), axis=0)), ..., axis=1)
//
// Applies to at least three layers (option min_branches). With option to_batch=1 layers of equal sizes become a batch
// of products:
//
//   split(nn.batch_matmul(expand_dims(%x, axis=0), stack((%a, %b, %c)), transpose_b=True), indices_or_sections=3)
#include "relay/transform/algebra/combine_parallel.h"
#include "relay/transform/attributes.h"

namespace relay::transform {

Result<ir::Module> combine_parallel_dense(const ir::Module& module, PassContext& context) {
  auto axes = [](const ir::Call& call) -> std::pair<int64_t, int64_t> {
    const ir::TensorType* data = ir::as<ir::TensorType>(call.args[0]->type);
    return {0, static_cast<int64_t>(data->shape.size()) - 1};
  };
  return combine_parallel(module, {"nn.dense", "units", axes, context.flag("combine_parallel_dense.to_batch")},
                          context.count("combine_parallel_dense.min_branches"), context);
}

}  // namespace relay::transform
