#include "relay/transform/narrow_weights.h"

#include <algorithm>
#include <vector>

#include "relay/ir/rewrite.h"
#include "relay/transform/attributes.h"

namespace relay::transform {

using namespace ir;

namespace {

bool is_product(const Expr& e) {
  return call_of(e, "nn.dense") || call_of(e, "nn.matmul") || call_of(e, "nn.batch_matmul");
}

// True for a call whose result has wider elements than its operand.
bool is_widening(const Expr& e) {
  if (call_of(e, "qnn.dequantize") || call_of(e, "storage.unpack")) return true;
  const Call* call = call_of(e, "cast");
  const TensorType *to = as<TensorType>(e->type), *from = call ? as<TensorType>(call->args[0]->type) : nullptr;
  return to && from && (from->dtype.is_storage() || (from->dtype.is_float() && to->dtype.is_float())) &&
         from->dtype.width() < to->dtype.bits;
}

// True for bytes that are computed, with a scale for each block of the last axis.
bool is_data_in_blocks(const Expr& e) {
  const Call* call = call_of(e, "qnn.dequantize");
  if (!call || attribute<int64_t>(*call, "block", 0) == 0 || call->args[0]->kind == ExprKind::Constant) return false;
  const TensorType *data = as<TensorType>(call->args[0]->type), *scale = as<TensorType>(call->args[1]->type);
  const Constant* zero = as<Constant>(call->args[2]);
  const int64_t axis = attribute<int64_t>(*call, "axis", -1);
  return data && scale && data->dtype == DType::int8() && scale->dtype == DType::float32() && zero &&
         zero->value.rank() == 0 && zero->value.at(0) == 0 &&
         (axis == -1 || axis + 1 == static_cast<int64_t>(data->shape.size()));
}

// True for a product of `data` with a weight of four bits that is part of its kernel, in blocks of the same length.
bool adds_integers(const ExprNode* user, const Expr& data, const NodeSet& kept) {
  const int64_t block = block_of_four_bits(Expr(user));
  const Call* product = block > 0 ? as<Call>(Expr(user)) : nullptr;
  return product && product->args[0] == data && kept.contains(product->args[1].get()) &&
         block == attribute<int64_t>(*as<Call>(data), "block", 0);
}

bool is_move(const Expr& e) { return call_of(e, "transpose") || call_of(e, "reshape"); }

}  // namespace

int64_t block_of_four_bits(const Expr& product) {
  const Call *dense = call_of(product, "nn.dense"), *matmul = call_of(product, "nn.matmul");
  if ((!dense && !matmul) || (matmul && attribute<bool>(*matmul, "transpose_a", false))) return 0;
  // The axis of the weight that is summed over.
  int64_t summed = dense || attribute<bool>(*matmul, "transpose_b", false) ? 1 : 0;
  Expr weight = (dense ? dense : matmul)->args[1];
  const TensorType* shape = as<TensorType>(weight->type);
  if (!shape || shape->shape.size() != 2) return 0;
  while (const Call* moved = call_of(weight, "transpose")) {
    const OptInts axes = attribute<OptInts>(*moved, "axes", {});
    const bool stays = axes && axes->size() == 2 && ((*axes)[0] == 0 || (*axes)[0] == -2);
    if (!stays) summed = 1 - summed;
    weight = moved->args[0];
  }
  const Call* scaled = call_of(weight, "qnn.dequantize");
  const Call* unpacked = scaled ? call_of(scaled->args[0], "storage.unpack") : nullptr;
  const TensorType* integers = unpacked ? as<TensorType>(scaled->args[0]->type) : nullptr;
  if (!integers || (integers->dtype.code != DType::Code::Int4 && integers->dtype.code != DType::Code::UInt4) ||
      unpacked->args[0]->kind != ExprKind::Constant || scaled->args[1]->kind != ExprKind::Constant)
    return 0;
  const int64_t axis = attribute<int64_t>(*scaled, "axis", -1);
  return (axis + 2) % 2 == summed ? attribute<int64_t>(*scaled, "block", 0) : 0;
}

NodeSet weight_conversions(const Expr& root) {
  NodeSet candidates;
  std::vector<Expr> order;  // candidates, operands before users
  NodeMap<std::vector<const ExprNode*>> users;
  visit(root, [&](const Expr& e) {
    for_each_child(e, [&](const Expr& child) {
      if (candidates.contains(child.get())) users[child.get()].push_back(e.get());
    });
    const bool widens = is_widening(e);
    if (!widens && !is_move(e)) return;
    const Exprs& args = as<Call>(e)->args;
    const bool closed = std::all_of(args.begin(), args.end(), [&](const Expr& a) {
      return a->kind == ExprKind::Constant || candidates.contains(a.get());
    });
    // A moved constant is itself a constant, unless a conversion comes first.
    if (closed && (widens || candidates.contains(args[0].get()))) candidates.insert(e.get()), order.push_back(e);
  });
  NodeSet kept;
  for (size_t i = order.size(); i-- > 0;) {
    const std::vector<const ExprNode*>* all = users.find(order[i].get());
    const bool fits = all && std::all_of(all->begin(), all->end(), [&](const ExprNode* user) {
                        return kept.contains(user) || is_product(Expr(user));
                      });
    if (fits) kept.insert(order[i].get());
  }
  return kept;
}

void add_data_in_blocks(const Expr& root, NodeSet& conversions) {
  std::vector<Expr> data;
  NodeMap<std::vector<const ExprNode*>> users;
  visit(root, [&](const Expr& e) {
    for_each_child(e, [&](const Expr& child) {
      if (is_data_in_blocks(child)) users[child.get()].push_back(e.get());
    });
    if (is_data_in_blocks(e)) data.push_back(e);
  });
  for (const Expr& e : data) {
    const std::vector<const ExprNode*>* all = users.find(e.get());
    if (all && std::ranges::all_of(*all, [&](const ExprNode* user) { return adds_integers(user, e, conversions); }))
      conversions.insert(e.get());
  }
}

}  // namespace relay::transform
