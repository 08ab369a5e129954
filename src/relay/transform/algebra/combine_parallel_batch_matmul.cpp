// combine_parallel_batch_matmul: merges products of the same batch of matrices into one with all the right-hand
// columns.
//
//   (nn.batch_matmul(%x, %a), nn.batch_matmul(%x, %b), nn.batch_matmul(%x, %c))
//     becomes   split(nn.batch_matmul(%x, concatenate((%a, %b, %c), axis=2)), ..., axis=2)
//
// Applies to at least three products (option min_branches). Transposed right-hand sides are joined along axis 1.
#include "relay/transform/algebra/combine_parallel.h"
#include "relay/transform/attributes.h"

namespace relay::transform {

Result<ir::Module> combine_parallel_batch_matmul(const ir::Module& module, PassContext& context) {
  auto axes = [](const ir::Call& call) -> std::pair<int64_t, int64_t> {
    return {attribute<bool>(call, "transpose_b", false) ? 1 : 2, 2};
  };
  return combine_parallel(module, {"nn.batch_matmul", nullptr, axes},
                          context.count("combine_parallel_batch_matmul.min_branches"), context);
}

}  // namespace relay::transform
