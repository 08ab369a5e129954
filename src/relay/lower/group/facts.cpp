#include "relay/lower/group/facts.h"

#include <algorithm>

#include "relay/lower/group/rounded.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

int64_t extent_or(const te::Axis& axis, int64_t guess) {
  Expr e = scalar::simplify(axis.extent);
  return scalar::is_int(e) ? e->ivalue : guess;
}

double elements_or(const te::TensorNode& stage, int64_t guess) {
  double elements = 1;
  for (const te::Axis& a : stage.axes) elements *= static_cast<double>(extent_or(a, guess));
  return elements;
}

bool reads_pointwise(const te::Tensor& user, const te::Tensor& t) {
  if (!user->body || user->combiner != te::Combiner::None || user->axes.size() != t->shape.size()) return false;
  bool any = false, all = true;
  scalar::visit(user->body, [&](const Expr& n) {
    if (n->kind != scalar::Kind::Load || n->source.get() != static_cast<const scalar::Source*>(t.get())) return;
    any = true;
    for (size_t d = 0; d < n->args.size(); ++d)
      all &= n->args[d] == user->axes[d].var ||
             (scalar::is_int(n->args[d], 0) && scalar::is_int(scalar::simplify(t->shape[d]), 1));
  });
  for (size_t d = 0; all && d < t->shape.size(); ++d)
    all = scalar::prove_equal(user->axes[d].extent, t->shape[d]).value_or(false);
  return any && all;
}

Consumers consumers_of(const te::Tensors& stages) {
  Consumers out;
  for (const te::Tensor& t : stages)
    if (!t->is_placeholder())
      for (const te::Tensor& in : te::inputs(t)) out[in.get()].push_back(t);
  return out;
}

te::Tensors pointwise_region(const GroupView& group, const te::Tensor& t, const std::set<std::string>& taken) {
  constexpr int64_t max_reads = 16;  // of t, each of which repeats its readers' code
  const std::optional<StageId> first = group.find(*t);
  if (!first) return {t};
  StageIds region{*first};
  std::map<StageId, int64_t> reads{{*first, 1}};  // of t, with all stages between inlined
  WrittenSize written;
  std::set<StageId> ahead(group.readers(*first).begin(), group.readers(*first).end());  // readers of the region
  while (!ahead.empty()) {
    const StageId id = *ahead.begin();
    ahead.erase(ahead.begin());
    const te::Tensor& stage = group.stage(id);
    int64_t count = 0;
    bool pointwise =
        stage->body && stage->combiner == te::Combiner::None && !taken.count(stage->name) && !guarded(*stage);
    for (const te::Tensor& in : te::inputs(stage)) {
      const auto it = reads.find(*group.find(*in));
      if (it == reads.end()) continue;
      pointwise = pointwise && reads_pointwise(stage, in);
      count += it->second;
    }
    if (count > max_reads || !pointwise || written.add(*stage) > max_written) continue;
    region.push_back(id), reads[id] = count;
    ahead.insert(group.readers(id).begin(), group.readers(id).end());
  }
  // The region is not left before stage `end` if every reader of the earlier ones is among the stages up to it.
  size_t size = 1;   // the longest part of the region that is only left at its last stage
  size_t reach = 0;  // a lower bound of the end
  for (size_t i = 0; i < region.size(); ++i) {
    if (reach <= i) size = i + 1;
    const StageIds& readers = group.readers(region[i]);
    if (group.is_output(group.stage(region[i])) || readers.empty()) break;
    for (const StageId reader : readers) {
      const auto at = std::lower_bound(region.begin(), region.end(), reader);
      reach = at == region.end() || *at != reader ? region.size()
                                                  : std::max(reach, static_cast<size_t>(at - region.begin()));
    }
    if (reach == region.size()) break;
  }
  te::Tensors out;
  for (size_t i = 0; i < size; ++i) out.push_back(group.stage(region[i]));
  return out;
}

te::Tensor pointwise_end(const GroupView& group, const te::Tensor& t, const std::set<std::string>& taken) {
  return pointwise_region(group, t, taken).back();
}

static LoadFact fact_of_load(const Expr& load, const Exprs& vars) {
  LoadFact fact;
  fact.tensor = te::Tensor(dynamic_cast<const te::TensorNode*>(load->source.get()));
  fact.load = load;
  for (const Expr& index : load->args) {
    for (const Expr& v : scalar::free_vars(index))
      for (const Expr& axis : vars)
        if (v == axis) fact.axes.insert(axis->name);
    std::optional<scalar::Affine> affine = scalar::as_affine(index, vars);
    if (!affine) {
      fact.coefficients.push_back(std::nullopt);
      continue;
    }
    std::map<std::string, int64_t> coefficients;
    for (size_t v = 0; v < vars.size(); ++v)
      if (affine->coefficients[v]) coefficients[vars[v]->name] = affine->coefficients[v];
    fact.coefficients.push_back(coefficients);
  }
  return fact;
}

static std::vector<LoadFact> loads_in(const Expr& e, const Exprs& vars) {
  std::vector<LoadFact> out;
  scalar::visit(e, [&](const Expr& n) {
    if (n->kind == scalar::Kind::Load && dynamic_cast<const te::TensorNode*>(n->source.get()))
      out.push_back(fact_of_load(n, vars));
  });
  return out;
}

// The constant c of axis // c, if that is the only use of the axis in these loads; 0 otherwise.
static int64_t group_of(const std::vector<LoadFact>& loads, const Expr& axis) {
  int64_t group = 0;
  for (const LoadFact& l : loads)
    for (const Expr& index : l.load->args) {
      int64_t c = 0;
      const Expr without = scalar::rewrite(index, [&](const Expr& e) {
        if (e->kind != scalar::Kind::Binary || e->binary != scalar::BinaryOp::FloorDiv || e->args[0] != axis ||
            !scalar::is_int(e->args[1]))
          return e;
        c = e->args[1]->ivalue;
        return scalar::imm(0);
      });
      const Exprs left = scalar::free_vars(without);
      if (std::find(left.begin(), left.end(), axis) != left.end() || (c && group && c != group)) return 0;
      if (c) group = c;
    }
  return group;
}

// The load for the first group.
static Expr first_group(const Expr& load, const Expr& axis) {
  return scalar::simplify(scalar::rewrite(load, [&](const Expr& e) {
    return e->kind == scalar::Kind::Binary && e->binary == scalar::BinaryOp::FloorDiv && e->args[0] == axis
               ? scalar::imm(0)
               : e;
  }));
}

StageFacts facts_of(const te::Tensor& stage, const Expanded& bodies) {
  StageFacts facts;
  facts.stage = stage;
  facts.reduction = stage->combiner != te::Combiner::None;
  Exprs vars;
  for (const te::Axis& a : stage->axes) vars.push_back(a.var);
  for (const te::Axis& a : stage->reduce_axes) vars.push_back(a.var);
  const Expr body = scalar::rewrite(bodies.body(*stage), [&](const Expr& e) -> Expr {
    if (e->kind != scalar::Kind::Dot) return e;
    const size_t n = e->args.size() / 2;
    facts.products_per_step = static_cast<int64_t>(n);
    for (const Expr& number : e->args)
      if (number->kind == scalar::Kind::Select) facts.peeled_axis = scalar::free_vars(number->args[0])[0]->name;
    return scalar::cast(e->dtype, e->args[0]) * scalar::cast(e->dtype, e->args[n]);
  });
  facts.loads = loads_in(body, vars);
  for (const LoadFact& l : facts.loads)
    for (const auto& dim : l.coefficients) {
      bool data = false, reduced = false;
      if (dim)
        for (const auto& [axis, c] : *dim) (is_reduce_axis(*stage, axis) ? reduced : data) = true;
      facts.window |= data && reduced;
    }
  Expr product = body;
  while (product->kind == scalar::Kind::Cast || is_rounded(product)) product = product->args[0];
  if (stage->combiner == te::Combiner::Sum && product->kind == scalar::Kind::Binary &&
      product->binary == scalar::BinaryOp::Mul) {
    facts.left_loads = loads_in(product->args[0], vars);
    facts.right_loads = loads_in(product->args[1], vars);
    for (const LoadFact& l : facts.left_loads) facts.left.insert(l.axes.begin(), l.axes.end());
    for (const LoadFact& l : facts.right_loads) facts.right.insert(l.axes.begin(), l.axes.end());
    facts.contraction = !facts.left_loads.empty() && !facts.right_loads.empty();
    for (const te::Axis& a : stage->axes) {
      const int64_t left = group_of(facts.left_loads, a.var), right = group_of(facts.right_loads, a.var);
      if (left <= 1 && right <= 1) continue;
      facts.grouped = a.var->name, facts.group = std::max(left, right);
      (left > 1 ? facts.left : facts.right).erase(a.var->name);
      for (LoadFact& l : left > 1 ? facts.left_loads : facts.right_loads)
        l = fact_of_load(first_group(l.load, a.var), vars);
    }
  }
  return facts;
}

bool has_program(const te::Tensors& outputs) {
  const te::Tensors stages = te::topological(outputs);
  return std::any_of(stages.begin(), stages.end(), [](const te::Tensor& t) { return t->is_program(); });
}

te::Tensor only_reduction(const te::Tensors& outputs) {
  if (outputs.size() != 1) return {};
  te::Tensor found;
  const GroupView group(outputs);
  for (const te::Tensor& t : group.stages()) {
    if (t->is_program()) return {};
    if (t->is_placeholder() || t->combiner == te::Combiner::None) continue;
    if (found) return {};
    found = t;
  }
  return found && pointwise_end(group, found, {}) == outputs[0] ? found : te::Tensor();
}

std::optional<StageFacts> only_reduction_facts(const te::Tensors& outputs) {
  const te::Tensor found = only_reduction(outputs);
  if (!found) return std::nullopt;
  const te::Tensors stages = te::topological(outputs);
  Schedule places;
  for (const te::Tensor& t : stages)
    if (!t->is_placeholder()) places.stages[t->name].place = t == found ? Place::Root : Place::Inline;
  if (!WrittenSize::is_small(stages, places)) return std::nullopt;
  return facts_of(found, expand(found, places));
}

}  // namespace relay::lower
