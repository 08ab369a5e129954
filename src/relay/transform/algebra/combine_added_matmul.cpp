// combine_added_matmul: merges a sum of transposed products into one product of all their rows.
//
//   add(nn.matmul(%a, %x, transpose_a=True), nn.matmul(%b, %y, transpose_a=True))
//     becomes   nn.matmul(concatenate((%a, %b)), concatenate((%x, %y)), transpose_a=True)
//
// Such sums are gradients of weights that are used many times, as by the steps of an LSTM: each product rewrites the
// whole sum, from few rows. The pass pays if the copies of the rows are smaller than the sums that are saved: for a
// product of k rows, if k * (m + n) < m * n elements. Other terms of the sum are added to the product.
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/scalar/simplify.h"
#include "relay/transform/attributes.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

class Combiner {
 public:
  explicit Combiner(const FunctionRef& f) : f_(f), flow_(f), users_(flow_.nodes.size()) {
    for (const Expr& e : flow_.nodes) for_each_open_child(e, [&](const Expr& child) { ++users_[index(child)]; });
  }

  FunctionRef run(PassContext& context) {
    // From the last sum to the first, so that a sum is visited before its terms.
    for (size_t i = flow_.nodes.size(); i-- > 0;)
      if (const Expr& e = flow_.nodes[i]; is_sum(e) && !inner_.contains(e.get())) find(e);
    if (sums_.size() == 0) return f_;
    return rewrite_function(f_, context, [&](const Expr& before, const Expr& now) {
      return sums_.contains(before.get()) ? combined(before, now) : now;
    });
  }

 private:
  size_t index(const Expr& e) const { return static_cast<size_t>(flow_.index(e)); }

  // An addition of two tensors of the result's type.
  static bool is_sum(const Expr& e) {
    const Call* call = call_of(e, "add");
    return call && equal(call->args[0]->type, e->type) && equal(call->args[1]->type, e->type);
  }

  static double size(const TensorType* type, size_t axis) { return static_cast<double>(type->shape[axis]->ivalue); }

  // A product that only a sum reads, and for which the pass pays.
  bool is_product(const Expr& e) const {
    const Call* call = call_of(e, "nn.matmul");
    if (!call || users_[index(e)] != 1 || !attribute(*call, "transpose_a", false) ||
        attribute(*call, "transpose_b", false))
      return false;
    const TensorType *a = as<TensorType>(call->args[0]->type), *b = as<TensorType>(call->args[1]->type);
    if (a->shape.size() != 2 || a->dtype != b->dtype || as<TensorType>(e->type)->dtype != a->dtype) return false;
    for (const Dim& extent : {a->shape[0], a->shape[1], b->shape[1]})
      if (!scalar::is_int(extent)) return false;
    const double k = size(a, 0), m = size(a, 1), n = size(b, 1);
    return k * (m + n) < m * n;
  }

  // Records a sum with its inner sums, which have no other users, if some of its terms can be merged.
  void find(const Expr& sum) {
    const int scope = flow_.scopes[index(sum)];
    int products = 0;
    for (Exprs next{sum}; !next.empty();) {
      const Expr e = next.back();
      next.pop_back();
      if (flow_.scopes[index(e)] != scope) continue;
      if (e == sum || (is_sum(e) && users_[index(e)] == 1)) {
        if (e != sum) inner_.insert(e.get());
        for (const Expr& term : as<Call>(e)->args) next.push_back(term);
      } else if (is_product(e)) {
        products_.insert(e.get());
        ++products;
      }
    }
    if (products > 1) sums_.insert(sum.get());
  }

  // `now`: the sum with rewritten operands of its terms.
  Expr combined(const Expr& sum, const Expr& now) const {
    Exprs left, right, others;
    for (std::vector<std::pair<Expr, Expr>> next{{sum, now}}; !next.empty();) {
      const auto [before, after] = next.back();
      next.pop_back();
      const Call* call = as<Call>(after);
      if (before == sum || inner_.contains(before.get())) {
        for (size_t i = 2; i-- > 0;) next.emplace_back(as<Call>(before)->args[i], call->args[i]);
      } else if (products_.contains(before.get())) {
        left.push_back(call->args[0]), right.push_back(call->args[1]);
      } else {
        others.push_back(after);
      }
    }
    auto rows = [&](Exprs parts) { return op::make("concatenate", {tuple(std::move(parts))}, {}, now->span); };
    Expr result =
        op::make("nn.matmul", {rows(std::move(left)), rows(std::move(right))}, {{"transpose_a", true}}, now->span);
    for (const Expr& other : others) result = op::make("add", {result, other}, {}, now->span);
    return result;
  }

  const FunctionRef& f_;
  Dataflow flow_;
  std::vector<int> users_;
  NodeSet sums_;              // sums that become a product
  NodeSet inner_, products_;  // sums that are terms of sums; the products among the terms
};

}  // namespace

Result<Module> combine_added_matmul(const Module& module, PassContext& context) {
  return for_each_function(module, [&](const FunctionRef& f) { return is_closed(f) ? f : Combiner(f).run(context); });
}

}  // namespace relay::transform
