// A sum over several axes that lie side by side in memory is a sum over one, so that lanes run over all of it:
//
//   r[n, c] = sum(h < 7, w < 7) x[n, c, h, w]   ->   r[n, c] = sum(hw < 49) x[n, c, hw]
//
// The array is the same, seen with a dimension less; what else reads it, x[n, c, i, j], reads x[n, c, i * 7 + j].
// Precondition: the array is row-major, without a border; the sum reads whole dimensions, and its axes nowhere else.
#include <algorithm>

#include "relay/lower/rules.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

namespace {

// Placeholders of which dimensions d and d + 1 become one.
using Merged = std::map<const te::TensorNode*, std::pair<te::Tensor, size_t>>;

class Merging {
 public:
  explicit Merging(GroupPlan& plan) : plan_(plan) {}

  // One pair of axes of one reduction; false if there is none.
  bool once() {
    for (const te::Tensor& r : plan_.stages()) {
      if (r->is_placeholder() || r->combiner == te::Combiner::None) continue;
      for (const te::Axis& a : r->reduce_axes)
        for (const te::Axis& b : r->reduce_axes)
          if (a.var != b.var && can_merge(*r, a, b)) {
            merge(*r, a, b);
            return true;
          }
    }
    return false;
  }

 private:
  bool can_merge(const te::TensorNode& r, const te::Axis& a, const te::Axis& b) {
    merged_.clear();
    if (!scalar::is_int(a.extent) || !scalar::is_int(b.extent)) return false;
    bool can = true;
    auto uses = [&](const Expr& e) {
      const Exprs vars = scalar::free_vars(e);
      return std::any_of(vars.begin(), vars.end(), [&](const Expr& v) { return v == a.var || v == b.var; });
    };
    const Expr rest = scalar::rewrite(r.body, [&](const Expr& e) -> Expr {
      if (e->kind != scalar::Kind::Load || !uses(e)) return e;
      const te::Tensor t(dynamic_cast<const te::TensorNode*>(e->source.get()));
      size_t d = 0;
      while (d < e->args.size() && e->args[d] != a.var) ++d;
      can &= t && t->is_placeholder() && d + 1 < e->args.size() && e->args[d + 1] == b.var &&
             !plan_.constants.count(t->name) && plan_.layout(t).is_row_major() &&
             scalar::equal(t->shape[d], a.extent) && scalar::equal(t->shape[d + 1], b.extent);
      if (!can) return e;
      auto [it, fresh] = merged_.try_emplace(t.get(), te::Tensor(), d);
      can &= it->second.second == d;
      for (size_t i = 0; i < e->args.size(); ++i) can &= i == d || i == d + 1 || !uses(e->args[i]);
      return scalar::fimm(0, e->dtype);
    });
    return can && !merged_.empty() && !uses(rest);
  }

  void merge(const te::TensorNode& r, const te::Axis& a, const te::Axis& b) {
    for (auto& [node, now] : merged_) {
      Exprs shape = node->shape;
      const auto at = shape.begin() + static_cast<int64_t>(now.second);
      at[0] = scalar::simplify(at[0] * at[1]);
      shape.erase(at + 1);
      now.first = te::placeholder(node->name, shape, node->dtype);
      plan_.layouts[node->name] = Layout::row_major(static_cast<int>(shape.size()));
    }
    const te::Axis both{scalar::var(a.var->name + "_" + b.var->name), scalar::simplify(a.extent * b.extent)};
    std::map<const scalar::Source*, te::Tensor> done;
    for (const te::Tensor& t : plan_.stages()) {
      if (t->is_placeholder()) continue;
      te::TensorNode node = *t;
      node.body = scalar::rewrite(t->body, [&](const Expr& e) -> Expr {
        if (e->kind != scalar::Kind::Load) return e;
        if (auto it = done.find(e->source.get()); it != done.end()) return scalar::load(it->second, e->args);
        auto it = merged_.find(dynamic_cast<const te::TensorNode*>(e->source.get()));
        if (it == merged_.end()) return e;
        const size_t d = it->second.second;
        Exprs args = e->args;
        const bool summed = t.get() == &r && args[d] == a.var;
        args[d] = summed ? both.var : scalar::simplify(args[d] * it->first->shape[d + 1] + args[d + 1]);
        args.erase(args.begin() + static_cast<int64_t>(d) + 1);
        return scalar::load(it->second.first, args);
      });
      if (t.get() == &r) {
        std::erase_if(node.reduce_axes, [&](const te::Axis& axis) { return axis.var == b.var; });
        for (te::Axis& axis : node.reduce_axes)
          if (axis.var == a.var) axis = both;
      }
      if (node.body != t->body) done[t.get()] = te::Tensor(new te::TensorNode(std::move(node)));
    }
    for (te::Tensor& o : plan_.outputs)
      if (auto it = done.find(o.get()); it != done.end()) o = it->second;
  }

  GroupPlan& plan_;
  Merged merged_;
};

}  // namespace

void merge_sums(GroupPlan& plan) {
  for (const te::Tensor& t : plan.stages())
    if (t->before) return;
  while (Merging(plan).once()) {
  }
}

}  // namespace relay::lower
