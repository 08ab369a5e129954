// The shared part of combine_parallel_conv2d, combine_parallel_dense and combine_parallel_batch_matmul: operators of
// one kind that read the same data become one operator with all their weights, followed by a split of its result.
#pragma once

#include <functional>

#include "relay/transform/pass.h"

namespace relay::transform {

struct Parallel {
  const char* op;      // of two inputs: data and weights
  const char* extent;  // the attribute with the size of the axis along which weights are joined; null if there is none
  // The axis of the weights that is joined and the axis of the result that is split; -1 if the call must be left alone.
  std::function<std::pair<int64_t, int64_t>(const ir::Call&)> axes;
  // For nn.dense on matrices: a batch of products, one per layer, instead of a wide layer. Weights are of one type.
  bool stacked = false;
};

// Combines groups of at least `min_branches` calls. They have the same data and attributes and are in one scope; their
// weights are constants or parameters, of known size along the joined axis and otherwise of one type. Elementwise
// operators of one input and nn.bias_add that follow all of them are computed once too.
Result<ir::Module> combine_parallel(const ir::Module& module, const Parallel& kind, int64_t min_branches,
                                    PassContext& context);

}  // namespace relay::transform
