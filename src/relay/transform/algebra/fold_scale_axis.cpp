// fold_scale_axis: folds constant scales of a contraction's results, then those of its data, into its weights. See
// backward_fold_scale_axis.cpp and forward_fold_scale_axis.cpp.
//
//   nn.dense(multiply(nn.relu(multiply(nn.dense(%x, W), S)), T), V)
//     becomes   nn.dense(nn.relu(nn.dense(%x, multiply(W, S'))), multiply(V, T'))
#include "relay/transform/pass.h"
#include "relay/typing/typing.h"

namespace relay::transform {

using namespace ir;

Result<Module> backward_fold_scale_axis(const Module& module, PassContext& context);
Result<Module> forward_fold_scale_axis(const Module& module, PassContext& context);

Result<Module> fold_scale_axis(const Module& module, PassContext& context) {
  RELAY_ASSIGN(Module backward, backward_fold_scale_axis(module, context));
  RELAY_ASSIGN(backward, typing::infer(backward));
  return forward_fold_scale_axis(backward, context);
}

}  // namespace relay::transform
