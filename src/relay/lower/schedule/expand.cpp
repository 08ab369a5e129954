#include "relay/lower/schedule/expand.h"

#include <algorithm>

#include "relay/base/diagnostics.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

const Exprs& Expanded::loads(const te::TensorNode& stage, const te::TensorNode& t) const {
  static const Exprs none;
  const auto& loads = of(stage).loads;
  auto it = loads.find(&t);
  return it == loads.end() ? none : it->second;
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
    int64_t size = scalar::is_relabel(n) ? 0 : read == sizes_.end() ? 1 : read->second;
    constexpr int64_t most = int64_t{1} << 40;  // shared parts count each time: sums must not overflow
    for (const Expr& a : n->args) size = std::min(size + sizes.at(a.get()), most);
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

// Finds, for the loads among `nodes`, arguments first: the variables in the conditions of the selects around them. From
// the top down, each node once: a concatenation of many arrays is equally many selects deep.
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
    // A condition on values (x < 0) does not guard: its loads happen for every index.
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
    if (written.add(*t) > max_written) return false;
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
  for (const te::Tensor& stage : stages)
    if (const StageSchedule* own = inline_schedule(*stage, schedule)) {
      out.inlined_.insert(stage.get());
      if (own->reads_halo) out.reads_halo_.insert(stage.get());
    }
  return out;
}

static scalar::Bounds bounds_of(const te::TensorNode& stage) {
  scalar::Bounds bounds;
  for (const auto* axes : {&stage.axes, &stage.reduce_axes})
    for (const te::Axis& a : *axes)
      if (scalar::is_int(a.extent))
        bounds.set(a.var, 0, a.extent->ivalue);
      else
        bounds.set(a.var, {0, std::nullopt});
  return bounds;
}

const Expr& Expanded::simple(const te::TensorNode& stage) const {
  Expr& body = simple_[&stage];
  if (body) return body;
  body = stage.body;
  if (reads_halo_.count(&stage)) {
    const std::optional<Guarded> g = guarded(stage);
    RELAY_CHECK(g.has_value(), "stage '{}' is inlined from a halo but has no guard", stage.name);
    body = g->value;
  }
  return body = scalar::simplify(body, bounds_of(stage));
}

// Writes out the inputs of one stage. One element of an inlined stage is one expression, however often it is read.
class Expanded::Writer {
 public:
  explicit Writer(const Expanded& of) : of_(of) {}

  Expr write(const Expr& body) {
    return scalar::rewrite(body, [&](const Expr& n) -> Expr {
      if (n->kind != scalar::Kind::Load) return n;
      const te::TensorNode* t = dynamic_cast<const te::TensorNode*>(n->source.get());
      return t && of_.inlined_.count(t) ? element(*t, n->args) : n;
    });
  }

 private:
  Expr element(const te::TensorNode& t, const Exprs& indices) {
    for (const auto& [at, value] : elements_[&t])
      if (std::equal(at.begin(), at.end(), indices.begin(), indices.end(), scalar::equal)) return value;
    std::vector<scalar::Binding> bindings;
    for (size_t d = 0; d < t.axes.size(); ++d) bindings.push_back({t.axes[d].var, indices[d]});
    Expr value = write(scalar::substitute(of_.simple(t), bindings));
    elements_[&t].push_back({indices, value});
    return value;
  }

  const Expanded& of_;
  std::unordered_map<const te::TensorNode*, std::vector<std::pair<Exprs, Expr>>> elements_;
};

const Expanded::Body& Expanded::of(const te::TensorNode& stage) const {
  const auto [at, is_new] = bodies_.try_emplace(&stage);
  Body& out = at->second;
  if (!is_new) return out;
  auto collect = [&](const Expr& n) {
    if (n->kind != scalar::Kind::Load) return;
    const te::TensorNode* t = dynamic_cast<const te::TensorNode*>(n->source.get());
    if (!t || t == stage.before.get()) return;
    if (out.loads[t].empty()) out.tensors.push_back(te::Tensor(t));
    out.loads[t].push_back(n);
  };
  if (stage.is_program()) {
    te::visit(stage, collect);
    return out;
  }
  out.body = scalar::simplify(Writer(*this).write(simple(stage)), bounds_of(stage));
  Exprs nodes;
  scalar::visit(out.body, [&](const Expr& n) { nodes.push_back(n); });
  find_guards(nodes, guarded_);
  for (const Expr& n : nodes) collect(n);
  return out;
}

}  // namespace relay::lower
