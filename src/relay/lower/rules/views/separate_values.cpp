// Separates a reduction of several values that is not computed in registers under its reader into an array for each
// value.
//
//   best[y] = argmax(k < n) (x[y, k], k);  out[i, y] = f(best[y].0, best[y].1)
//     becomes
//   best_0[y] = argmax(k < n) (x[y, k], k);  value_0[y] = best_0[y].0
//   best_1[y] = argmax(k < n) (x[y, k], k);  value_1[y] = best_1[y].1;  out[i, y] = f(value_0[y], value_1[y])
#include <algorithm>

#include "relay/lower/rules/rules.h"

namespace relay::lower {

namespace {

// The array of value v of `r`.
te::Tensor array_of(ScheduleDraft& draft, const te::Tensor& r, size_t v) {
  te::TensorNode own = *r;
  own.name = unused_name(draft, format("{}_{}", r->name, v));
  const te::Tensor reduction(new te::TensorNode(std::move(own)));
  te::TensorNode node;
  node.name = unused_name(draft, format("{}_value{}", r->name, v));
  node.dtype = r->value_types[v], node.shape = r->shape;
  Exprs at;
  for (const te::Axis& a : r->axes) {
    node.axes.push_back({scalar::var(a.var->name), a.extent});
    at.push_back(node.axes.back().var);
  }
  node.body = te::value(reduction, at, v);
  return te::Tensor(new te::TensorNode(std::move(node)));
}

void separate(ScheduleDraft& draft, const te::Tensor& r) {
  std::vector<te::Tensor> arrays(r->value_types.size());
  std::unordered_map<const scalar::Source*, te::Tensor> done;
  auto is_value = [&](const Expr& n) {
    return n->kind == scalar::Kind::Get && n->args[0]->source.get() == static_cast<const scalar::Source*>(r.get());
  };
  for (const te::Tensor& t : draft.stages()) {
    if (t->is_placeholder() || t == r) continue;
    const te::Tensor now = te::rewrite(t, [&](const Expr& n) -> Expr {
      if (is_value(n)) {
        te::Tensor& array = arrays[static_cast<size_t>(n->ivalue)];
        if (!array) array = array_of(draft, r, static_cast<size_t>(n->ivalue));
        return scalar::load(array, n->args[0]->args);
      }
      if (n->kind != scalar::Kind::Load) return n;
      const auto made = done.find(n->source.get());
      return made == done.end() ? n : scalar::load(made->second, n->args);
    });
    if (now != t) done[t.get()] = now;
  }
  te::Tensors outputs = draft.outputs();
  for (te::Tensor& o : outputs)
    if (auto made = done.find(o.get()); made != done.end()) o = made->second;
  draft.set_outputs(std::move(outputs));
}

}  // namespace

void separate_values(ScheduleDraft& draft, bool all) {
  std::vector<std::string> names;
  for (const te::Tensor& t : draft.stages())
    if (t->combiner == te::Combiner::Several) names.push_back(t->name);
  for (const std::string& name : names) {
    const te::Tensor r = draft.stage(name);
    if (all || pointwise_end(draft.primary(), r, {}) == r) separate(draft, r);
  }
}

}  // namespace relay::lower
