#include "relay/lower/schedule/expand.h"

#include <algorithm>

#include "relay/base/diagnostics.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

const Exprs& Expanded::loads(const te::TensorNode& stage, const te::TensorNode& t) const {
  static const Exprs none;
  const auto& of_stage = loads_.at(&stage);
  auto it = of_stage.find(&t);
  return it == of_stage.end() ? none : it->second;
}

bool Expanded::is_guarded(const Expr& load, const Expr& index) const {
  auto it = guarded_.find(load.get());
  if (it == guarded_.end()) return false;
  for (const Expr& v : scalar::free_vars(index))
    if (it->second.count(v.get())) return true;
  return false;
}

int64_t WrittenSize::add(const te::TensorNode& t) {
  if (t.is_program()) return sizes_[&t] = 1;  // never written out in another stage
  std::unordered_map<const scalar::Node*, int64_t> sizes;
  scalar::visit(t.body, [&](const Expr& n) {
    const auto read = n->kind == scalar::Kind::Load ? sizes_.find(n->source.get()) : sizes_.end();
    int64_t size = read == sizes_.end() ? 1 : read->second;
    for (const Expr& a : n->args) size = std::min(size + sizes.at(a.get()), int64_t{1} << 40);
    sizes[n.get()] = size;
  });
  return sizes_[&t] = sizes.at(t.body.get());
}

std::optional<Guarded> guarded(const te::TensorNode& stage) {
  if (!stage.body || stage.combiner != te::Combiner::None || stage.body->kind != scalar::Kind::Select)
    return std::nullopt;
  const Expr &value = stage.body->args[1], &otherwise = stage.body->args[2];
  if (value->kind != scalar::Kind::Load) return std::nullopt;
  if (otherwise->kind == scalar::Kind::Float) return Guarded{stage.body->args[0], value, otherwise->fvalue};
  if (otherwise->kind == scalar::Kind::Int)
    return Guarded{stage.body->args[0], value, static_cast<double>(otherwise->ivalue)};
  return std::nullopt;
}

// Of the loads among `nodes`, arguments first: the variables in the conditions of selects that they stand under. From
// the top down, each node once: a concatenation of many arrays is as many selects deep.
static void find_guards(const Exprs& nodes, Guards& of_loads) {
  Guards guards;
  for (size_t i = nodes.size(); i-- > 0;) {
    const Expr& n = nodes[i];
    const auto it = guards.find(n.get());
    if (it == guards.end() && n->kind != scalar::Kind::Select) continue;
    const auto under = it == guards.end() ? Guards::mapped_type() : it->second;
    if (n->kind == scalar::Kind::Load) of_loads[n.get()].insert(under.begin(), under.end());
    for (const Expr& arg : n->args) guards[arg.get()].insert(under.begin(), under.end());
    if (n->kind != scalar::Kind::Select) continue;
    // A condition on values (x < 0) guards nothing: its loads happen for every index.
    const Expr condition = scalar::rewrite(
        n->args[0], [](const Expr& c) { return c->kind == scalar::Kind::Load ? scalar::imm(0, c->dtype) : c; });
    for (const Expr& v : scalar::free_vars(condition))
      for (size_t branch : {1, 2}) guards[n->args[branch].get()].insert(v.get());
  }
}

// Null if it is not inlined.
static const StageSchedule* inline_schedule(const te::TensorNode& t, const Schedule& schedule) {
  if (t.is_placeholder()) return nullptr;
  auto it = schedule.stages.find(t.name);
  return it != schedule.stages.end() && it->second.place == Place::Inline ? &it->second : nullptr;
}

bool WrittenSize::is_small(const te::Tensors& stages, const Schedule& schedule) {
  WrittenSize written;
  for (const te::Tensor& t : stages) {
    if (t->is_placeholder()) continue;
    if (written.add(*t) > most_written) return false;
    if (!inline_schedule(*t, schedule)) written.set(*t, 1);
  }
  return true;
}

Expanded expand(const te::Tensor& stage, const Schedule& schedule) {
  return expand(
      te::topological({stage}, [&](const te::Tensor& t) { return t != stage && !inline_schedule(*t, schedule); }),
      schedule);
}

Expanded expand(const te::Tensors& stages, const Schedule& schedule) {
  Expanded out;
  for (const te::Tensor& stage : stages) {
    if (stage->is_placeholder()) continue;
    if (stage->is_program()) {
      out.tensors_[stage.get()] = te::inputs(stage);
      auto& loads = out.loads_[stage.get()];
      te::visit(*stage, [&](const Expr& n) {
        const te::TensorNode* t =
            n->kind == scalar::Kind::Load ? dynamic_cast<const te::TensorNode*>(n->source.get()) : nullptr;
        if (t) loads[t].push_back(n);
      });
      continue;
    }
    scalar::Bounds bounds;
    auto add_axes = [&](const std::vector<te::Axis>& axes) {
      for (const te::Axis& a : axes)
        if (scalar::is_int(a.extent))
          bounds.set(a.var, 0, a.extent->ivalue);
        else
          bounds.set(a.var, {0, std::nullopt});
    };
    add_axes(stage->axes);
    add_axes(stage->reduce_axes);
    const StageSchedule* own = inline_schedule(*stage, schedule);
    Expr start = stage->body;
    if (own && own->from_border) {
      std::optional<Guarded> g = guarded(*stage);
      RELAY_CHECK(g.has_value(), "stage '{}' is inlined from a border but has no guard", stage->name);
      start = g->value;
    }
    // Producers come first, so the bodies substituted here are expanded already. One element of a stage is one
    // expression, however often it is read.
    std::unordered_map<const te::TensorNode*, std::vector<std::pair<Exprs, Expr>>> elements;
    Expr body = scalar::rewrite(start, [&](const Expr& n) -> Expr {
      if (n->kind != scalar::Kind::Load) return n;
      const te::TensorNode* t = dynamic_cast<const te::TensorNode*>(n->source.get());
      if (!t || !inline_schedule(*t, schedule)) return n;
      auto& known = elements[t];
      for (const auto& [indices, value] : known)
        if (std::equal(indices.begin(), indices.end(), n->args.begin(), n->args.end(), scalar::equal)) return value;
      std::vector<scalar::Binding> bindings;
      for (size_t d = 0; d < t->axes.size(); ++d) bindings.push_back({t->axes[d].var, n->args[d]});
      known.push_back({n->args, scalar::substitute(out.bodies_.at(t), bindings)});
      return known.back().second;
    });
    body = scalar::simplify(body, bounds);
    out.bodies_[stage.get()] = body;
    te::Tensors& tensors = out.tensors_[stage.get()];
    auto& loads = out.loads_[stage.get()];
    Exprs nodes;
    scalar::visit(body, [&](const Expr& n) { nodes.push_back(n); });
    find_guards(nodes, out.guarded_);
    for (const Expr& n : nodes) {
      if (n->kind != scalar::Kind::Load) continue;
      const te::TensorNode* t = dynamic_cast<const te::TensorNode*>(n->source.get());
      if (!t || t == stage->before.get()) continue;
      if (loads[t].empty()) tensors.push_back(te::Tensor(t));
      loads[t].push_back(n);
    }
  }
  return out;
}

}  // namespace relay::lower
