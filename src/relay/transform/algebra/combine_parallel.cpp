#include "relay/transform/algebra/combine_parallel.h"

#include <unordered_map>

#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/scalar/simplify.h"
#include "relay/transform/attributes.h"
#include "relay/transform/group/dataflow.h"

namespace relay::transform {

using namespace ir;

namespace {

// Calls that are merged: `last_nodes` are the last nodes of the branches, each `followers` operators after its call.
struct Branches {
  int64_t weight_axis, result_axis;
  std::vector<const Call*> calls;
  Exprs last_nodes;
  size_t followers = 0;
  Expr parts;  // the split result, made when the first end is reached
};

Attrs without_extent(const Call& call, const char* extent) {
  return extent && call.attrs ? with_attributes(call, {{extent, AttrValue{}}}) : call.attrs;
}

// True unless the weights' shapes prevent joining.
bool joins(const Call& a, const Call& b, int64_t axis) {
  const TensorType *x = as<TensorType>(a.args[1]->type), *y = as<TensorType>(b.args[1]->type);
  if (x->dtype != y->dtype || x->shape.size() != y->shape.size()) return false;
  for (size_t d = 0; d < x->shape.size(); ++d)
    if (static_cast<int64_t>(d) != axis && !scalar::equal(x->shape[d], y->shape[d])) return false;
  return true;
}

class Combiner {
 public:
  Combiner(const FunctionRef& f, const Parallel& kind, size_t least) : f_(f), kind_(kind), least_(least), flow_(f) {}

  FunctionRef run(PassContext& context) {
    find();
    if (found_.empty()) return f_;
    return rewrite_function(f_, context, [&](const Expr& before, const Expr& now) {
      const std::pair<size_t, size_t>* end = branch_of_end_.find(before.get());
      if (!end) return now;
      Branches& b = found_[end->first];
      if (!b.parts) b.parts = kind_.stacked ? stacked(b, now) : combined(b, now);
      const Expr part = get(b.parts, static_cast<int64_t>(end->second), now->span);
      return kind_.stacked ? op::make("squeeze", {part}, {{"axis", Ints{0}}}, now->span) : part;
    });
  }

 private:
  bool is_leaf(const Expr& e) const { return e->kind == ExprKind::Constant || params_.contains(e.get()); }

  void find() {
    for (const Expr& e : flow_.nodes)
      if (const Function* f = as<Function>(e))
        for (const VarRef& param : f->params) params_.insert(param.get());
    std::vector<Branches> all;
    std::unordered_map<uint64_t, std::vector<size_t>> known;  // by data, scope and attributes
    users_.resize(flow_.nodes.size());
    for (size_t i = 0; i < flow_.nodes.size(); ++i) {
      const Expr& e = flow_.nodes[i];
      for_each_open_child(e, [&](const Expr& child) { users_[static_cast<size_t>(flow_.index(child))].push_back(e); });
      const Call* call = call_of(e, kind_.op);
      if (!call || !is_leaf(call->args[1]) || !as<TensorType>(call->args[1]->type)) continue;
      const auto [weight_axis, result_axis] = kind_.axes(*call);
      if (weight_axis < 0 || (kind_.stacked && as<TensorType>(call->args[0]->type)->shape.size() != 2)) continue;
      const Dims& shape = as<TensorType>(call->args[1]->type)->shape;
      if (!scalar::is_int(shape[static_cast<size_t>(weight_axis)])) continue;
      const Attrs attrs = without_extent(*call, kind_.extent);
      uint64_t key = reinterpret_cast<uintptr_t>(call->args[0].get()) ^ hash(attrs);
      key ^= static_cast<uint64_t>(flow_.scopes[i]) * 0x9E3779B97F4A7C15ull;
      bool is_new = true;
      for (size_t k : known[key]) {
        const Call& first = *all[k].calls[0];
        if (first.args[0] != call->args[0] || !equal(without_extent(first, kind_.extent), attrs) ||
            scope(all[k].last_nodes[0]) != flow_.scopes[i] || !joins(first, *call, kind_.stacked ? -1 : weight_axis))
          continue;
        all[k].calls.push_back(call), all[k].last_nodes.push_back(e);
        is_new = false;
        break;
      }
      if (!is_new) continue;
      known[key].push_back(all.size());
      all.push_back(
          {.weight_axis = weight_axis, .result_axis = result_axis, .calls = {call}, .last_nodes = {e}, .parts = {}});
    }
    for (Branches& b : all) {
      if (b.calls.size() < least_) continue;
      while (follow(b)) ++b.followers;
      for (size_t k = 0; k < b.last_nodes.size(); ++k) branch_of_end_[b.last_nodes[k].get()] = {found_.size(), k};
      found_.push_back(std::move(b));
    }
  }

  int scope(const Expr& e) const { return flow_.scopes[static_cast<size_t>(flow_.index(e))]; }

  // Advances the ends if the same operator follows all of them, and they have no other users.
  bool follow(Branches& b) const {
    Exprs next;
    for (const Expr& end : b.last_nodes) {
      const Exprs& users = users_[static_cast<size_t>(flow_.index(end))];
      if (users.size() != 1) return false;
      const Call* call = as<Call>(users[0]);
      const Op* op = call ? as<Op>(call->callee) : nullptr;
      if (!op || call->args[0] != end || scope(users[0]) != scope(end)) return false;
      const std::optional<int64_t> axis = axis_of_operand(*call, end, b);
      if (!axis && !(op->def->fusion == op::Fusion::Elementwise && call->args.size() == 1)) return false;
      if (!next.empty()) {
        const Call& first = *as<Call>(next[0]);
        if (first.callee != call->callee || !equal(first.attrs, call->attrs)) return false;
        if (axis != axis_of_operand(first, first.args[0], b)) return false;
      }
      next.push_back(users[0]);
    }
    b.last_nodes = std::move(next);
    return true;
  }

  // The axis along which operands of branches are joined: that of the channels, for a bias or an operand that
  // broadcasts over all other axes. Nullopt if the operator has no such operand.
  std::optional<int64_t> axis_of_operand(const Call& call, const Expr& data, const Branches& b) const {
    const Op& op = *as<Op>(call.callee);
    if (call.args.size() != 2 || !is_leaf(call.args[1])) return std::nullopt;
    const Dims &shape = as<TensorType>(data->type)->shape, &operand = as<TensorType>(call.args[1]->type)->shape;
    const int64_t rank = static_cast<int64_t>(shape.size());
    if (op.name == "nn.bias_add") {
      const int64_t axis = (attribute<int64_t>(call, "axis", 1) + rank) % rank;
      return axis == b.result_axis ? std::optional<int64_t>(0) : std::nullopt;
    }
    const int64_t at = b.result_axis - rank + static_cast<int64_t>(operand.size());
    if (op.def->fusion != op::Fusion::Broadcast || kind_.stacked || at < 0) return std::nullopt;
    for (size_t d = 0; d < operand.size(); ++d) {
      const Dim wanted = static_cast<int64_t>(d) == at ? shape[static_cast<size_t>(b.result_axis)] : scalar::imm(1);
      if (!scalar::equal(operand[d], wanted)) return std::nullopt;
    }
    return static_cast<int64_t>(operand.size()) <= rank ? std::optional(at) : std::nullopt;
  }

  // The data of the branches; `now`: the first end, with the operands of its branch rewritten.
  static Expr data_of(const Branches& b, const Expr& now) {
    Expr data = now;
    for (size_t step = 0; step < b.followers; ++step) data = as<Call>(data)->args[0];
    return as<Call>(data)->args[0];
  }
  // The steps from the calls to the ends.
  static std::vector<Exprs> steps_of(const Branches& b) {
    std::vector<Exprs> steps(b.followers, Exprs(b.last_nodes.size()));
    for (size_t k = 0; k < b.last_nodes.size(); ++k) {
      Expr e = b.last_nodes[k];
      for (size_t step = b.followers; step-- > 0; e = as<Call>(e)->args[0]) steps[step][k] = e;
    }
    return steps;
  }

  Expr combined(const Branches& b, const Expr& now) const {
    const Expr data = data_of(b, now);
    Exprs weights;
    Ints boundaries;
    int64_t total = 0;
    for (const Call* call : b.calls) {
      weights.push_back(call->args[1]);
      total += as<TensorType>(call->args[1]->type)->shape[static_cast<size_t>(b.weight_axis)]->ivalue;
      boundaries.push_back(total);
    }
    boundaries.pop_back();
    const Call& first = *b.calls[0];
    Attrs attrs =
        kind_.extent && first.attrs ? with_attributes(first, {{kind_.extent, extent(first, total)}}) : first.attrs;
    Expr all = call(first.callee, {data, concatenated(weights, b.weight_axis)}, std::move(attrs), now->span);
    for (const Exprs& step : steps_of(b)) {
      const Call& one = *as<Call>(step[0]);
      Exprs args{all};
      if (one.args.size() == 2) {
        Exprs biases;
        for (const Expr& e : step) biases.push_back(as<Call>(e)->args[1]);
        args.push_back(concatenated(biases, *axis_of_operand(one, one.args[0], b)));
      }
      all = call(one.callee, std::move(args), one.attrs, one.span);
    }
    return op::make("split", {all}, {{"indices_or_sections", boundaries}, {"axis", b.result_axis}}, now->span);
  }

  // batch_matmul(expand_dims(data), stack(weights)), and split along the batch.
  Expr stacked(const Branches& b, const Expr& now) const {
    const Span& span = now->span;
    Exprs weights;
    for (const Call* call : b.calls) weights.push_back(call->args[1]);
    op::AttrValues attrs{{"transpose_b", true}};
    const OptDType out_dtype = attribute<OptDType>(*b.calls[0], "out_dtype", std::nullopt);
    if (out_dtype) attrs.push_back({"out_dtype", *out_dtype});
    const Expr data = op::make("expand_dims", {data_of(b, now)}, {{"axis", int64_t{0}}}, span);
    Expr all = op::make("nn.batch_matmul", {data, stack(weights)}, attrs, span);
    for (const Exprs& step : steps_of(b)) {
      const Call& one = *as<Call>(step[0]);
      if (one.args.size() == 1) {
        all = call(one.callee, {all}, one.attrs, one.span);
        continue;
      }
      Exprs biases;
      for (const Expr& e : step) biases.push_back(as<Call>(e)->args[1]);
      all = op::make("add", {all, op::make("expand_dims", {stack(biases)}, {{"axis", int64_t{1}}}, span)}, {}, span);
    }
    const int64_t count = static_cast<int64_t>(b.calls.size());
    return op::make("split", {all}, {{"indices_or_sections", count}, {"axis", int64_t{0}}}, span);
  }
  static Expr stack(const Exprs& parts) {
    return op::make("stack", {tuple(parts, parts[0]->span)}, {{"axis", int64_t{0}}}, parts[0]->span);
  }

  AttrValue extent(const Call& call, int64_t total) const {
    const int field = call.attrs->type.find(kind_.extent);
    const AttrValue value = call.attrs->get(static_cast<size_t>(field));
    return std::holds_alternative<int64_t>(value) ? AttrValue(total) : value;  // stays unset
  }

  static Expr concatenated(const Exprs& parts, int64_t axis) {
    return op::make("concatenate", {tuple(parts, parts[0]->span)}, {{"axis", axis}}, parts[0]->span);
  }

  const FunctionRef& f_;
  const Parallel& kind_;
  size_t least_;
  Dataflow flow_;
  std::vector<Exprs> users_;
  NodeSet params_;
  std::vector<Branches> found_;
  NodeMap<std::pair<size_t, size_t>> branch_of_end_;  // the branches that a node ends, and the index in them
};

}  // namespace

Result<Module> combine_parallel(const Module& module, const Parallel& kind, int64_t min_branches,
                                PassContext& context) {
  const size_t least = static_cast<size_t>(std::max<int64_t>(2, min_branches));
  return for_each_function(
      module, [&](const FunctionRef& f) { return is_closed(f) ? f : Combiner(f, kind, least).run(context); });
}

}  // namespace relay::transform
