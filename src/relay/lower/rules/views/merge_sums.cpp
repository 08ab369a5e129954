// Turns a sum over several axes that are adjacent in memory into a sum over one, so that lanes run over all of it:
//
//   r[n, c] = sum(h < 7, w < 7) x[n, c, h, w]   ->   r[n, c] = sum(hw < 49) x[n, c, hw]
//
// The array is the same, viewed with one dimension less; other readers of x[n, c, i, j] read x[n, c, i * 7 + j]. The
// same holds for columns and channels of an image that is stored channels-last. All sums over these dimensions, of the
// array and of others that they read with it, become sums over one axis together: a mean and a variance. Precondition:
// one follows the other in storage, without a halo or row padding between them; the sum reads whole dimensions, and its
// axes nowhere else.
#include <algorithm>

#include "relay/lower/rules/rules.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

namespace {

// A pair of dimensions of a placeholder that become one, in the place of the outer one.
struct Pair {
  te::Tensor now;
  size_t outer = 0, inner = 0;
};
using Merged = std::map<const te::TensorNode*, Pair>;

// True if dimension `inner` is stored within `outer`, in an array that is row-major or in which `inner` is stored last.
bool lies_within(const Layout& layout, size_t outer, size_t inner) {
  if (layout.is_row_major()) return inner == outer + 1;
  const size_t n = layout.dims.size();
  return n >= 2 && layout.row_padding == 0 && layout.dims[n - 1] == LayoutDim{static_cast<int>(inner)} &&
         layout.dims[n - 2] == LayoutDim{static_cast<int>(outer)} &&
         (layout.low.empty() || (layout.low[inner] == 0 && layout.high[inner] == 0));
}

// The layout of the array with one dimension less.
Layout merged_layout(Layout layout, int64_t inner_extent, size_t outer, size_t inner) {
  std::erase_if(layout.dims, [&](const LayoutDim& d) { return d.dim == static_cast<int>(inner); });
  for (LayoutDim& d : layout.dims) d.dim -= d.dim > static_cast<int>(inner);
  for (std::vector<int64_t>* halo : {&layout.low, &layout.high}) {
    if (halo->empty()) continue;
    (*halo)[outer] *= inner_extent;
    halo->erase(halo->begin() + static_cast<int64_t>(inner));
  }
  return layout;
}

class Merging {
 public:
  explicit Merging(ScheduleDraft& draft) : draft_(draft) {}

  // Merges one pair of axes of one reduction, and of all others that read the same dimensions; false if there is none.
  bool once() {
    const te::Tensors stages = draft_.stages();
    for (const te::Tensor& r : stages) {
      if (!add(*r)) continue;
      // Reductions that read further arrays along these axes may lead to others.
      while (std::any_of(stages.begin(), stages.end(), [&](const te::Tensor& t) { return add(*t); })) {
      }
      merge();
      return true;
    }
    return false;
  }

 private:
  // The axes of a reduction, and the merged axis.
  struct Axes {
    te::Axis outer, inner, both;
  };

  // Merges a pair of axes of this stage too, if needed; returns true if one was added.
  bool add(const te::TensorNode& r) {
    if (r.is_placeholder() || r.combiner == te::Combiner::None || sums_.count(&r)) return false;
    for (const te::Axis& a : r.reduce_axes)
      for (const te::Axis& b : r.reduce_axes) {
        const Merged found = a.var == b.var ? Merged() : dimensions(r, a, b);
        auto known = [&](const auto& of) { return merged_.count(of.first) > 0; };
        const bool first = merged_.empty();
        if (found.empty() || (!first && std::none_of(found.begin(), found.end(), known)) ||
            !std::all_of(found.begin(), found.end(), [&](const auto& of) {
              const auto it = merged_.find(of.first);
              return it == merged_.end() ||
                     (it->second.outer == of.second.outer && it->second.inner == of.second.inner);
            }))
          continue;
        merged_.insert(found.begin(), found.end());
        const te::Axis both{scalar::var(a.var->name + "_" + b.var->name), scalar::simplify(a.extent * b.extent)};
        sums_.emplace(&r, Axes{a, b, both});
        return true;
      }
    return false;
  }

  // The dimensions along which the reduction reads a and b; unset if they cannot become one.
  Merged dimensions(const te::TensorNode& r, const te::Axis& a, const te::Axis& b) {
    Merged found;
    if (!scalar::is_int(a.extent) || !scalar::is_int(b.extent)) return {};
    bool can = true;
    auto uses = [&](const Expr& e) {
      const Exprs vars = scalar::free_vars(e);
      return std::any_of(vars.begin(), vars.end(), [&](const Expr& v) { return v == a.var || v == b.var; });
    };
    const Expr rest = scalar::rewrite(r.body, [&](const Expr& e) -> Expr {
      if (e->kind != scalar::Kind::Load || !uses(e)) return e;
      const te::Tensor t(dynamic_cast<const te::TensorNode*>(e->source.get()));
      size_t outer = 0, inner = 0;
      while (outer < e->args.size() && e->args[outer] != a.var) ++outer;
      while (inner < e->args.size() && e->args[inner] != b.var) ++inner;
      can &= t && t->is_placeholder() && outer < e->args.size() && inner < e->args.size() &&
             !draft_.constants.count(t->name) && lies_within(draft_.layout(t), outer, inner) &&
             scalar::equal(t->shape[outer], a.extent) && scalar::equal(t->shape[inner], b.extent);
      if (!can) return e;
      auto [it, fresh] = found.try_emplace(t.get(), te::Tensor(), outer, inner);
      can &= it->second.outer == outer && it->second.inner == inner;
      for (size_t i = 0; i < e->args.size(); ++i) can &= i == outer || i == inner || !uses(e->args[i]);
      return scalar::fimm(0, e->dtype);
    });
    return can && !uses(rest) ? found : Merged();
  }

  void merge_arrays() {
    for (auto& [node, pair] : merged_) {
      Exprs shape = node->shape;
      const int64_t inner_extent = shape[pair.inner]->ivalue;
      shape[pair.outer] = scalar::simplify(shape[pair.outer] * shape[pair.inner]);
      shape.erase(shape.begin() + static_cast<int64_t>(pair.inner));
      pair.now = te::placeholder(node->name, shape, node->dtype);
      draft_.layouts[node->name] = merged_layout(draft_.layout(te::Tensor(node)), inner_extent, pair.outer, pair.inner);
    }
  }

  void merge() {
    merge_arrays();
    std::map<const scalar::Source*, te::Tensor> done;
    for (const te::Tensor& t : draft_.stages()) {
      if (t->is_placeholder()) continue;
      const auto sum = sums_.find(t.get());
      const Axes* axes = sum == sums_.end() ? nullptr : &sum->second;
      te::TensorNode node = *t;
      node.body = scalar::rewrite(t->body, [&](const Expr& e) -> Expr {
        if (e->kind != scalar::Kind::Load) return e;
        if (auto it = done.find(e->source.get()); it != done.end()) return scalar::load(it->second, e->args);
        auto it = merged_.find(dynamic_cast<const te::TensorNode*>(e->source.get()));
        if (it == merged_.end()) return e;
        const auto& [now, outer, inner] = it->second;
        Exprs args = e->args;
        const bool summed = axes && args[outer] == axes->outer.var;
        args[outer] = summed ? axes->both.var : scalar::simplify(args[outer] * it->first->shape[inner] + args[inner]);
        args.erase(args.begin() + static_cast<int64_t>(inner));
        return scalar::load(now, args);
      });
      if (axes) {
        std::erase_if(node.reduce_axes, [&](const te::Axis& axis) { return axis.var == axes->inner.var; });
        for (te::Axis& axis : node.reduce_axes)
          if (axis.var == axes->outer.var) axis = axes->both;
      }
      if (node.body != t->body) done[t.get()] = te::Tensor(new te::TensorNode(std::move(node)));
    }
    te::Tensors outputs = draft_.outputs();
    for (te::Tensor& o : outputs)
      if (auto it = done.find(o.get()); it != done.end()) o = it->second;
    draft_.set_outputs(std::move(outputs));
  }

  ScheduleDraft& draft_;
  Merged merged_;
  std::map<const te::TensorNode*, Axes> sums_;
};

}  // namespace

void merge_sums(ScheduleDraft& draft) {
  for (const te::Tensor& t : draft.stages())
    if (t->before || t->is_program()) return;
  while (Merging(draft).once()) {
  }
}

}  // namespace relay::lower
