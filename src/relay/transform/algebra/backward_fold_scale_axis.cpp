// backward_fold_scale_axis: folds a constant scale of a contraction's results into its weights.
//
//   multiply(nn.conv2d(%x, W), S)                      becomes    nn.conv2d(%x, multiply(W, S'))
//   multiply(nn.bias_add(nn.conv2d(%x, W), B), S)
//     becomes   nn.bias_add(nn.conv2d(%x, multiply(W, S')), multiply(B, S''))
//   multiply(nn.relu(add(nn.conv2d(%x, W), nn.conv2d(%y, V))), S)    becomes the same for both convolutions
//
// S has one element, or one for each output channel; S' is S along that axis of the weights. So a batch_norm after a
// convolution costs only an addition (simplify_inference runs before). A scale passes through nn.relu and nn.leaky_relu
// if all of it is positive, and through sums and differences if both sides absorb it or one is a constant. The
// intermediate values must have no other users, and the weights must be constant, unless
// backward_fold_scale_axis.any_weights=1. fold_constant evaluates the remaining operations on constants.
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/transform/algebra/scale_axis.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

constexpr int max_depth = 16;  // of the operators between a scale and the contractions

class BackwardFolder {
 public:
  BackwardFolder(const FunctionRef& f, bool any_weights) : any_weights_(any_weights) {
    Dataflow flow(f);
    for (const Expr& e : flow.nodes) for_each_open_child(e, [&](const Expr& child) { ++uses_[child.get()]; });
  }

  Expr operator()(const Expr& before, const Expr& now) const {
    const Call *old = call_of(before, "multiply"), *call = call_of(now, "multiply");
    if (!old || !call || !as<TensorType>(before->type)) return now;
    for (size_t i = 0; i < 2; ++i)
      if (const Constant* scale = as<Constant>(old->args[1 - i]))
        if (Expr folded = scaled(old->args[i], call->args[i], *scale, before->type, 0)) return folded;
    return now;
  }

 private:
  // `now` times the scale, without multiplying it, or null. `before` has the types and the uses.
  Expr scaled(const Expr& before, const Expr& now, const Constant& scale, const Type& type, int depth) const {
    const int* uses = uses_.find(before.get());
    const Call *old = as<Call>(before), *call = as<Call>(now);
    if (!old || !call || !(old->callee == call->callee) || depth == max_depth) return nullptr;
    if (!uses || *uses != 1 || !equal(before->type, type)) return nullptr;
    if (std::optional<ScaledSide> side = scaled_result(before))
      return weights_fit(*call, any_weights_) && along(scale, *as<TensorType>(type), side->axis)
                 ? with_scaled_weights(*call, old->args[1]->type, scale, *side, now->span)
                 : nullptr;
    if (call_of(before, "nn.bias_add")) return scaled_bias(*old, *call, scale, type, depth);
    if (call_of(before, "add") || call_of(before, "subtract")) return scaled_sum(*old, *call, scale, type, depth);
    if ((call_of(before, "nn.relu") || call_of(before, "nn.leaky_relu")) && all_positive(scale))
      if (Expr data = scaled(old->args[0], call->args[0], scale, type, depth + 1))
        return ir::call(call->callee, {data}, call->attrs, now->span);
    return nullptr;
  }

  Expr scaled_bias(const Call& old, const Call& call, const Constant& scale, const Type& type, int depth) const {
    int64_t axis = attribute<int64_t>(old, "axis", 1);
    const TensorType& sum = *as<TensorType>(type);
    if (axis < 0) axis += static_cast<int64_t>(sum.shape.size());
    if (!as<Constant>(call.args[1]) || !along(scale, sum, static_cast<size_t>(axis))) return nullptr;
    Expr data = scaled(old.args[0], call.args[0], scale, type, depth + 1);
    if (!data) return nullptr;
    Expr shift = op::make("multiply", {call.args[1], along_axis(scale, 1, 0, call.span)}, {}, call.span);
    return ir::call(call.callee, {data, shift}, call.attrs, call.span);
  }

  // Constants in a sum are multiplied directly: the scale broadcasts with them as it did with the sum.
  Expr scaled_sum(const Call& old, const Call& call, const Constant& scale, const Type& type, int depth) const {
    Exprs args;
    bool has_contraction = false;
    for (size_t i = 0; i < 2; ++i) {
      if (as<Constant>(call.args[i])) {
        args.push_back(op::make("multiply", {call.args[i], constant(scale.value, call.span)}, {}, call.span));
        continue;
      }
      args.push_back(scaled(old.args[i], call.args[i], scale, type, depth + 1));
      if (!args.back()) return nullptr;
      has_contraction = true;
    }
    return has_contraction ? ir::call(call.callee, std::move(args), call.attrs, call.span) : nullptr;
  }

  bool any_weights_;
  NodeMap<int> uses_;
};

}  // namespace

Result<Module> backward_fold_scale_axis(const Module& module, PassContext& context) {
  const bool any_weights = context.flag("backward_fold_scale_axis.any_weights");
  return for_each_function(module, [&](const FunctionRef& f) {
    BackwardFolder folder(f, any_weights);
    return rewrite_function(f, context, [&](const Expr& before, const Expr& now) { return folder(before, now); });
  });
}

}  // namespace relay::transform
