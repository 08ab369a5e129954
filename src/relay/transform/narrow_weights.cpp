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

bool is_move(const Expr& e) { return call_of(e, "transpose") || call_of(e, "reshape"); }

}  // namespace

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

}  // namespace relay::transform
