// forward_fold_scale_axis: folds a constant scale of a contraction's data into its weights.
//
//   nn.conv2d(multiply(%x, S), W)                      becomes    nn.conv2d(%x, multiply(W, S'))
//   nn.conv2d(nn.relu(add(multiply(%x, S), B)), W)
//     becomes   nn.conv2d(nn.relu(add(%x, divide(B, S))), multiply(W, S'))
//
// S has one element, or one for each channel of the data; S' is S along that axis of the weights. It passes through
// sums and differences with constants, and through nn.relu and nn.leaky_relu if all of it is positive. Every reader of
// the intermediate values must absorb the scale. The weights must be constant; with option
// forward_fold_scale_axis.any_weights=1 they may be arbitrary, and so may broadcast summands. fold_constant evaluates
// the remaining operations on constants.
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/transform/algebra/scale_axis.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

// The scale that the readers of a value can absorb, along this axis.
struct Taken {
  enum { Unread, None, Axis } kind = Unread;
  size_t axis = 0;
  bool positive = false;  // only of positive numbers

  void add(const Taken& other) {
    if (kind == Unread) {
      *this = other;
    } else if (kind == Axis && other.kind == Axis && axis == other.axis) {
      positive = positive || other.positive;
    } else {
      kind = None;
    }
  }
};

// The argument that a scale passes through: the other argument of a sum is constant or, if `of_any`, broadcast over
// this one. Nullopt if it is not a sum.
std::optional<size_t> summand(const Expr& e, bool of_any) {
  const Call* call = as<Call>(e);
  if (!call_of(e, "add") && !call_of(e, "subtract")) return std::nullopt;
  for (size_t i = 0; i < 2; ++i)
    if (as<Constant>(call->args[1 - i])) return i;
  for (size_t i = 0; i < 2 && of_any; ++i)
    if (equal(call->args[i]->type, e->type) && !equal(call->args[1 - i]->type, e->type)) return i;
  return std::nullopt;
}

bool is_rectifier(const Expr& e) { return call_of(e, "nn.relu") || call_of(e, "nn.leaky_relu"); }

class ForwardFolder {
 public:
  ForwardFolder(const FunctionRef& f, bool any_weights) : any_weights_(any_weights) {
    Dataflow flow(f);
    std::vector<Taken> taken(flow.nodes.size());
    for (int i = flow.size(); i-- > 0;) {
      const Expr& e = flow.nodes[static_cast<size_t>(i)];
      const Taken& own = taken[static_cast<size_t>(i)];
      if (own.kind == Taken::Axis) taken_[e.get()] = own;
      size_t position = 0;
      for_each_open_child(e, [&](const Expr& child) {
        taken[static_cast<size_t>(flow.index(child))].add(from_child(e, own, position++));
      });
    }
  }

  Expr operator()(const Expr& before, const Expr& now) {
    const Call *old = as<Call>(before), *call = as<Call>(now);
    if (!old || !call) return now;
    if (std::optional<size_t> data = started(before)) {
      scales_[before.get()] = as<Constant>(old->args[1 - *data]);
      return call->args[*data];
    }
    for (size_t i = 0; i < old->args.size(); ++i)
      if (const Constant** scale = scales_.find(old->args[i].get())) return scaled(before, now, i, **scale);
    return now;
  }

 private:
  // The scale that a node absorbs from its child at this position; a call's callee is the first child.
  Taken from_child(const Expr& e, const Taken& own, size_t position) const {
    if (e->kind != ExprKind::Call || position == 0) return {Taken::None};
    if (std::optional<ScaledSide> side = scaled_data(e))
      return position == 1 && weights_fit(*as<Call>(e), any_weights_) ? Taken{Taken::Axis, side->axis}
                                                                      : Taken{Taken::None};
    if (own.kind != Taken::Axis || !equal(as<Call>(e)->args[position - 1]->type, e->type)) return {Taken::None};
    if (is_rectifier(e)) return {Taken::Axis, own.axis, true};
    std::optional<size_t> data = summand(e, any_weights_);
    return data && *data + 1 == position ? own : Taken{Taken::None};
  }

  // The argument of a multiplication that is left if its readers absorb the other one, a constant.
  std::optional<size_t> started(const Expr& before) const {
    const Taken* taken = taken_.find(before.get());
    const Call* call = taken ? call_of(before, "multiply") : nullptr;
    if (!call) return std::nullopt;
    for (size_t i = 0; i < 2; ++i) {
      const Constant* scale = as<Constant>(call->args[1 - i]);
      if (!scale || !equal(call->args[i]->type, before->type)) continue;
      if (!along(*scale, *as<TensorType>(before->type), taken->axis)) continue;
      if (!taken->positive || all_positive(*scale))
        if (is_invertible(*scale)) return i;
    }
    return std::nullopt;
  }

  // True if it is not 0 anywhere, because sums divide by it.
  static bool is_invertible(const Constant& scale) {
    for (int64_t i = 0; i < scale.value.elements(); ++i)
      if (scale.value.at(i) == 0) return false;
    return true;
  }

  Expr scaled(const Expr& before, const Expr& now, size_t argument, const Constant& scale) {
    const Call &old = *as<Call>(before), &call = *as<Call>(now);
    if (std::optional<ScaledSide> side = scaled_data(before))
      return with_scaled_weights(call, old.args[1]->type, scale, *side, now->span);
    scales_[before.get()] = &scale;
    if (is_rectifier(before)) return now;
    Exprs args = call.args;
    Expr& shift = args[1 - argument];
    shift = op::make("divide", {shift, constant(scale.value, now->span)}, {}, now->span);
    return ir::call(call.callee, std::move(args), call.attrs, now->span);
  }

  bool any_weights_;
  NodeMap<Taken> taken_;
  NodeMap<const Constant*> scales_;  // the factor by which the original node is larger than the new one
};

}  // namespace

Result<Module> forward_fold_scale_axis(const Module& module, PassContext& context) {
  const bool any_weights = context.flag("forward_fold_scale_axis.any_weights");
  return for_each_function(module, [&](const FunctionRef& f) {
    ForwardFolder folder(f, any_weights);
    return rewrite_function(f, context, [&](const Expr& before, const Expr& now) { return folder(before, now); });
  });
}

}  // namespace relay::transform
