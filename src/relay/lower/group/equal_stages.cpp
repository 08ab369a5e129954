#include "relay/lower/group/equal_stages.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "relay/te/recurrence.h"

namespace relay::lower {

namespace {

using scalar::Expr;
using scalar::Node;
using scalar::Source;

// Pairs each node of a group with one of the other, in both directions.
class Pairs {
 public:
  bool same(const te::TensorNode& a, const te::TensorNode& b) {
    if (a.name != b.name || a.dtype != b.dtype || a.combiner != b.combiner || a.value_types != b.value_types ||
        a.merge != b.merge || a.of_elements != b.of_elements || a.is_placeholder() != b.is_placeholder())
      return false;
    for (const te::TensorNode* t : {&a, &b})
      if (t->is_program() || t->before || te::as_recurrence(*t) || te::as_state(*t)) return false;
    if (!same_sizes(a.shape, b.shape) || !same_axes(a.axes, b.axes) || !same_axes(a.reduce_axes, b.reduce_axes))
      return false;
    sources_[&a] = &b;
    return a.is_placeholder() || same(a.body, b.body);
  }

 private:
  static bool same_sizes(const scalar::Exprs& a, const scalar::Exprs& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Expr& x, const Expr& y) {
      return scalar::is_int(x) && scalar::is_int(y) && x->ivalue == y->ivalue;
    });
  }

  bool same_axes(const std::vector<te::Axis>& a, const std::vector<te::Axis>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const te::Axis& x, const te::Axis& y) {
      return scalar::is_int(x.extent) && scalar::is_int(y.extent) && x.extent->ivalue == y.extent->ivalue &&
             x.var->name == y.var->name && pair(*x.var, *y.var);
    });
  }

  // False if one of them has another partner.
  bool pair(const Node& a, const Node& b) {
    return nodes_.try_emplace(&a, &b).first->second == &b && others_.try_emplace(&b, &a).first->second == &a;
  }

  bool same(const Expr& a, const Expr& b) {
    std::vector<std::pair<const Node*, const Node*>> work{{a.get(), b.get()}};
    while (!work.empty()) {
      const auto [x, y] = work.back();
      work.pop_back();
      const bool is_known = nodes_.contains(x);
      if (!is_known && (x->kind == scalar::Kind::Var || x->kind == scalar::Kind::Any) && x != y) return false;
      if (!pair(*x, *y)) return false;
      if (is_known) continue;
      if (x->kind != y->kind || x->unary != y->unary || x->binary != y->binary || x->index != y->index ||
          x->dtype != y->dtype || x->ivalue != y->ivalue ||
          std::bit_cast<uint64_t>(x->fvalue) != std::bit_cast<uint64_t>(y->fvalue) || x->name != y->name ||
          x->args.size() != y->args.size() || partner(x->source.get()) != y->source.get())
        return false;
      for (size_t i = 0; i < x->args.size(); ++i) work.emplace_back(x->args[i].get(), y->args[i].get());
    }
    return true;
  }

  const Source* partner(const Source* source) const {
    const auto known = sources_.find(source);
    return known == sources_.end() ? source : known->second;
  }

  std::unordered_map<const Node*, const Node*> nodes_, others_;
  std::unordered_map<const Source*, const Source*> sources_;
};

}  // namespace

bool are_equal(const te::Tensors& stages, const te::Tensors& others) {
  Pairs pairs;
  return std::equal(stages.begin(), stages.end(), others.begin(), others.end(),
                    [&](const te::Tensor& a, const te::Tensor& b) { return pairs.same(*a, *b); });
}

}  // namespace relay::lower
