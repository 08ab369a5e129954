// Products of two computed tensors on tile registers (attention). One factor is stored in groups first, in the order in
// which constant weights are packed:
//
//   sum[b, m, n] = sum(k < 64) float32(q[b, m, k]) * float32(w[b, n, k])
//   becomes
//   w_groups[b, k, n, p] = w[b, n, 2 k + p]                                                   a kernel of its own
//   sum[b, m, n] = sum(k < 32) dot_float32(q[b, m, 2 k], q[b, m, 2 k + 1], w_groups[b, k, n, 0], w_groups[b, k, n, 1])
//
// tiles.cpp then makes the schedule. Zero points of bytes are corrected at the end, by sums over each factor:
//
//   sum((a - za) * (w - zw))  =  sum(a * w) - za * sum(w) - zw * sum(a) + 64 * za * zw
//
// Storing takes a step for each number, so each must be used for at least `least_uses` results.
#include <algorithm>

#include "relay/lower/rules/narrow/factors.h"
#include "relay/lower/rules/rule_functions.h"
#include "relay/lower/schedule/schedule_rules.h"
#include "relay/machine/instruction.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

namespace {

using scalar::Kind;

constexpr int64_t least_uses = 16;  // as many as rows for packing

struct Computed {
  Narrow data, weight;
  bool data_is_left = true;
  te::Axis k{}, n{};
  Exprs batch{};  // variables of the axes of both
  const machine::Instruction* instruction = nullptr;
};

std::optional<Computed> computed_factors(const ScheduleDraft& draft, const te::Tensor& r, const StageFacts& facts) {
  if (!facts.contraction || !facts.grouped.empty() || draft.form.by_channels || draft.form.schedule || draft.is_step ||
      draft.target->blocks.threads > 0 || draft.without.count(Rule::Tiles) || r->reduce_axes.size() != 1)
    return std::nullopt;
  const Expr product = draft.expanded(r).body(*r);
  if (product->kind != Kind::Binary) return std::nullopt;
  const std::optional<Narrow> left = narrow_factor(product->args[0], facts.left_loads),
                              right = narrow_factor(product->args[1], facts.right_loads);
  if (!left || !right || draft.constants.count(left->fact.tensor->name) ||
      draft.constants.count(right->fact.tensor->name))
    return std::nullopt;
  Computed f{*left, *right};
  f.k = r->reduce_axes[0];
  if (!scalar::is_int(f.k.extent)) return std::nullopt;
  for (const te::Axis& a : r->axes) {  // the lanes are the last axis that only one factor has
    const bool of_left = facts.left.count(a.var->name) > 0, of_right = facts.right.count(a.var->name) > 0;
    if (!scalar::is_int(a.extent)) return std::nullopt;
    if (of_left && of_right) f.batch.push_back(a.var);
    if (of_left != of_right && a.extent->ivalue > 1) f.n = a, f.data_is_left = of_right;
  }
  if (!f.n.var) return std::nullopt;
  if (!f.data_is_left) std::swap(f.data, f.weight);
  const int in_data = plain_dim(f.data.fact, f.k.var->name);
  const machine::RatedInstruction tiles = machine::fastest_instruction(
      *draft.target, f.data.load->dtype, f.weight.load->dtype, r->dtype, machine::Registers::Tile);
  f.instruction = tiles.instruction;
  if (!f.instruction || f.instruction->in_vectors || f.k.extent->ivalue % f.instruction->products != 0 || in_data < 0 ||
      in_data != contiguous_dim(*f.data.fact.tensor, draft.layout(f.data.fact.tensor)))
    return std::nullopt;
  const std::optional<TileShape> shape = tile_shape(draft, r, f.data.fact, f.weight.fact, f.k.var->name,
                                                    f.k.extent->ivalue / f.instruction->products, f.instruction);
  const double lanes = static_cast<double>(draft.lanes(r->dtype));
  if (!shape || shape->n != f.n.var->name || find_axis(*r, shape->x)->extent->ivalue < least_uses ||
      shape->multiply_adds_per_cycle < surely_more * draft.target->fma_per_cycle * lanes)
    return std::nullopt;
  return f;
}

Exprs extents(const te::TensorNode& r, const Exprs& vars) {
  Exprs out;
  for (const Expr& var : vars) out.push_back(find_axis(r, var->name)->extent);
  return out;
}

// The weight in groups: [batch axes, steps, columns, products].
te::Tensor in_groups(const ScheduleDraft& draft, const te::Tensor& r, const Computed& f) {
  const int64_t products = f.instruction->products;
  Exprs shape = extents(*r, f.batch);
  for (const Expr& extent : {scalar::imm(f.k.extent->ivalue / products), f.n.extent, scalar::imm(products)})
    shape.push_back(extent);
  return te::compute(unused_name(draft, f.weight.fact.tensor->name + "_groups"), shape, [&](const Exprs& i) {
    const size_t b = f.batch.size();
    std::vector<scalar::Binding> at{{f.k.var, i[b] * products + i[b + 2]}, {f.n.var, i[b + 1]}};
    for (size_t d = 0; d < b; ++d) at.push_back({f.batch[d], i[d]});
    return scalar::substitute(f.weight.load, at);
  });
}

// The sums over one factor, for each element of its axes `vars`.
te::Tensor sums_of(const ScheduleDraft& draft, const te::Tensor& r, const Computed& f, const Narrow& factor,
                   const Exprs& vars) {
  return te::reduce(unused_name(draft, factor.fact.tensor->name + "_sums"), extents(*r, vars), {f.k.extent},
                    te::Combiner::Sum, [&](const Exprs& i, const Exprs& k) {
                      std::vector<scalar::Binding> at{{f.k.var, k[0]}};
                      for (size_t d = 0; d < vars.size(); ++d) at.push_back({vars[d], i[d]});
                      return scalar::cast(r->dtype, scalar::substitute(factor.load, at));
                    });
}

// The variables of the axes that the factor moves along.
Exprs axes_of(const te::TensorNode& r, const Narrow& factor) {
  Exprs out;
  for (const te::Axis& a : r.axes)
    if (factor.fact.axes.count(a.var->name)) out.push_back(a.var);
  return out;
}

// Schedules one of these sums, by the first rule that can.
void schedule_sums(ScheduleDraft& draft, const std::string& name) {
  const te::Tensor added = draft.stage(name), copy = copy_stage(added, unused_name(draft, name + "_out"));
  draft.redirect(added, copy);
  draft.schedule.stages[name].place = draft.schedule.stages[copy->name].place = Place::Root;
  const te::Tensor r = draft.stage(name), e = draft.stage(copy->name);
  const StageFacts facts = facts_of(r, draft.expanded(r));
#define RELAY_REDUCTION_RULE(rule, file, purpose)                                                \
  if (!draft.without.count(Rule::rule) && apply(draft, name, file##_rule(draft, r, e, facts))) { \
    draft.used.insert(Rule::rule);                                                               \
    return;                                                                                      \
  }
#include "relay/lower/schedule/schedule_rules.def"
}

// Subtracts what the zero points add.
void correct(ScheduleDraft& draft, const te::Tensor& r, const te::Tensor& grouped, const Computed& f) {
  if (scalar::is_int(f.data.offset, 0) && scalar::is_int(f.weight.offset, 0)) return draft.replace(r, grouped);
  struct Term {
    te::Tensor sums;
    Expr times;
    std::vector<size_t> at;  // dimensions of the result
  };
  std::vector<Term> terms;
  for (const auto& [own, other] : {std::pair{&f.data, &f.weight}, std::pair{&f.weight, &f.data}}) {
    if (scalar::is_int(other->offset, 0)) continue;
    const Exprs vars = axes_of(*r, *own);
    Term term{sums_of(draft, r, f, *own, vars), other->offset, {}};
    for (const Expr& var : vars)
      for (size_t d = 0; d < r->axes.size(); ++d)
        if (r->axes[d].var == var) term.at.push_back(d);
    terms.push_back(std::move(term));
  }
  const te::Tensor exact = te::compute(unused_name(draft, r->name + "_exact"), r->shape, [&](const Exprs& i) {
    Expr out = (*grouped)(i);
    for (const Term& term : terms) {
      Exprs at;
      for (size_t d : term.at) at.push_back(i[d]);
      out = out - (*term.sums)(at)*term.times;
    }
    return out + f.data.offset * f.weight.offset * scalar::imm(f.k.extent->ivalue, DType::int32());
  });
  draft.replace(r, exact);
  draft.schedule.stages[exact->name] = {};
  for (const Term& term : terms) schedule_sums(draft, term.sums->name);
}

}  // namespace

bool multiply_computed(ScheduleDraft& draft, const te::Tensor& r, const StageFacts& facts) {
  const std::optional<Computed> f = computed_factors(draft, r, facts);
  if (!f) return false;
  const te::Tensor groups = in_groups(draft, r, *f);
  const int64_t products = f->instruction->products;
  const Expr step = scalar::var(f->k.var->name);
  Exprs data, weight;
  for (int64_t i = 0; i < products; ++i) {
    Exprs at = f->batch;
    for (const Expr& index : {step, f->n.var, scalar::imm(i)}) at.push_back(index);
    data.push_back(number_of_step(f->data.load, f->k, step, products, i));
    weight.push_back((*groups)(at));
  }
  te::TensorNode dots = *r;
  dots.reduce_axes[0] = {step, scalar::imm(f->k.extent->ivalue / products)};
  dots.body = scalar::dot(r->dtype, data, weight);
  correct(draft, r, te::Tensor(new te::TensorNode(std::move(dots))), *f);
  draft.schedule.stages[groups->name].place = Place::Root;
  return true;
}

}  // namespace relay::lower
