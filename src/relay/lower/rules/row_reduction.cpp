// Reductions along the contiguous axis. A vector of partial results runs along the row; halves of it are then combined:
//
//   acc[m, l]   = sum(ko) x[m, ko * W + l]        W lanes (several vectors: one chain each), in registers
//   half[m, l]  = acc[m, l] + acc[m, l + W / 2]   and so on, down to two lanes
//   r[m]        = sum(l < 2) half[m, l]
//
// This fixes the order of the sum, so the result does not depend on threads. Each part has all values of an element:
// for arg-max the numbers and their places. The same stages serve a separate reduction (mean, arg-max), those inside a
// loop over rows (softmax, layer norm: rows_rule), and products of rows with rows (inner_product_rule).
#include <algorithm>

#include "relay/lower/group/rounded.h"
#include "relay/lower/rules/rule_functions.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

using scalar::imm;

int contiguous_axis(const ScheduleDraft& draft, const StageFacts& facts) {
  const te::TensorNode& r = *facts.stage;
  for (size_t k = 0; k < r.reduce_axes.size(); ++k) {
    bool some = false, all = true;
    for (const LoadFact& l : facts.loads) {
      if (!l.axes.count(r.reduce_axes[k].var->name)) continue;
      const int last = contiguous_dim(*l.tensor, draft.layout(l.tensor));
      const auto* c = last < 0 ? nullptr : &l.coefficients[last];
      bool contiguous = c && *c && (*c)->count(r.reduce_axes[k].var->name) && (*c)->at(r.reduce_axes[k].var->name) == 1;
      some |= contiguous, all &= contiguous;
    }
    if (some && all) return static_cast<int>(k);
  }
  return -1;
}

// The element where `inside` holds, and the neutral one elsewhere. In a sum of products both factors are 0 there, so
// that they are multiplied and added by one instruction.
static Expr masked(const te::TensorNode& r, const Expr& inside, const Expr& whole) {
  const Expr& body = unrounded(whole);
  if (r.combiner != te::Combiner::Sum || body->kind != scalar::Kind::Binary || body->binary != scalar::BinaryOp::Mul)
    return te::choose(r, inside, whole, te::identity(r));
  const Expr zero = te::identity(r);
  Expr product = scalar::select(inside, body->args[0], zero) * scalar::select(inside, body->args[1], zero);
  return body == whole ? product : scalar::with_args(whole, {std::move(product)});
}

LaneParts split_lanes(ScheduleDraft& draft, const te::Tensor& r, size_t k, int64_t width) {
  const te::Axis& row = r->reduce_axes[k];
  te::TensorNode acc = *r;
  acc.name = r->name + "_acc";
  te::Axis lane{scalar::var("lane"), imm(width)},
      outer{scalar::var(row.var->name), scalar::simplify(scalar::floordiv(row.extent + (width - 1), width))};
  Expr at = outer.var * width + lane.var;
  // The row's own variable, replaced wherever the body uses it.
  acc.body = scalar::substitute(r->body, {{row.var, at}});
  bool whole = scalar::is_int(row.extent) && row.extent->ivalue % width == 0;
  if (!whole) acc.body = masked(*r, scalar::lt(at, row.extent), acc.body);
  acc.axes.push_back(lane), acc.shape.push_back(imm(width));
  acc.reduce_axes[k] = outer;
  LaneParts parts;
  parts.acc = te::Tensor(new te::TensorNode(std::move(acc)));

  Exprs at_row;
  for (const te::Axis& a : r->axes) at_row.push_back(a.var);
  te::Tensor from = parts.acc;
  for (int64_t n = width / 2; n >= 2; n /= 2) {
    te::TensorNode half;
    half.name = format("{}_half{}", r->name, n), half.dtype = r->dtype, half.value_types = r->value_types;
    half.axes = r->axes, half.shape = r->shape;
    te::Axis l{scalar::var("lane"), imm(n)};
    Exprs low = at_row, high = at_row;
    low.push_back(l.var), high.push_back(l.var + n);
    half.body = te::combine(*r, scalar::load(from, low), scalar::load(from, high));
    half.axes.push_back(l), half.shape.push_back(imm(n));
    from = te::Tensor(new te::TensorNode(std::move(half)));
    parts.halves.push_back(from);
  }

  te::TensorNode result = *r;
  te::Axis j{scalar::var("lane"), parts.halves.empty() ? imm(width) : imm(2)};
  result.reduce_axes = {j}, result.of_elements = false;
  Exprs index = at_row;
  index.push_back(j.var);
  result.body = scalar::load(from, index);
  parts.result = te::Tensor(new te::TensorNode(std::move(result)));
  draft.redirect(r, parts.result);
  return parts;
}

LaneParts split_lanes(ScheduleDraft& draft, const te::Tensor& r, const StageFacts& facts, int64_t chains) {
  const int k = contiguous_axis(draft, facts), lanes = draft.lanes(*r);
  // A short row pays if many are summed.
  int64_t rows = 1;
  for (const te::Axis& a : r->reduce_axes) rows *= extent_or(a, usual_row);
  const int64_t row_extent = k < 0 ? 1 : extent_or(r->reduce_axes[k], usual_row);
  rows /= std::max<int64_t>(1, row_extent);
  if (k < 0 || chains * lanes < 2 || row_extent < (rows >= 4 ? lanes / 2 + 1 : 2 * lanes)) return {nullptr, {}, r};
  return split_lanes(draft, r, static_cast<size_t>(k), chains * lanes);
}

// The number of vectors of partial results. For several short rows, the number that leaves the fewest empty lanes and
// waits: a vector is added in one cycle, and the next can be added to it three cycles later.
static int64_t chains_of(ScheduleDraft& draft, const te::TensorNode& r, int k) {
  const int64_t extent = extent_or(r.reduce_axes[k], usual_row), lanes = draft.lanes(r);
  // Each part has one vector per value, and the parts have to leave registers for their halves.
  const int64_t values = static_cast<int64_t>(te::count_values(r)), most = draft.target->vector_registers / 4 / values;
  double rows = 1;
  for (const te::Axis& a : r.axes) rows *= static_cast<double>(extent_or(a, usual_rows));
  for (size_t i = 0; i < r.reduce_axes.size(); ++i)
    if (static_cast<int>(i) != k) rows *= static_cast<double>(extent_or(r.reduce_axes[i], usual_rows));
  const bool is_long = extent >= long_row_vectors * lanes, several = r.reduce_axes.size() > 1;
  if (!several && extent < 2 * lanes) return 1;
  std::vector<int64_t> counts{is_long && most >= 4 ? 4 : is_long && most >= 2 ? 2 : 1};
  for (const int64_t chains : {1, 2, 4})
    if (chains != counts[0] && ((several && !is_long) || (chains <= most && chains * lanes <= extent)))
      counts.push_back(chains);
  ScheduleChoice choice{r.name, "chains", {}};
  for (const int64_t chains : counts) {
    const int64_t steps = (extent + chains * lanes - 1) / (chains * lanes),
                  cycles = steps * std::max<int64_t>(chains, 3);
    // Estimates differ only for several short rows.
    choice.options.push_back(
        {format("{}", chains), several && !is_long ? rows * static_cast<double>(cycles) / draft.target->ghz : 0});
  }
  return counts[draft.choose(std::move(choice))];
}

LaneParts split_lanes(ScheduleDraft& draft, const te::Tensor& r, const StageFacts& facts) {
  const int k = contiguous_axis(draft, facts);
  return split_lanes(draft, r, facts, k < 0 ? 1 : chains_of(draft, *r, k));
}

void place_parts(ScheduleDraft& draft, const LaneParts& parts, const std::string& consumer, int level,
                 const std::set<std::string>& tile) {
  auto at = [&](const te::Tensor& stage, const std::string& where, int inside) -> StageSchedule& {
    StageSchedule& s = draft.schedule.stages[stage->name];
    s = {};
    s.place = Place::At, s.consumer = where, s.level = inside, s.storage = Storage::Registers;
    return s;
  };
  auto end_axes = [&](std::vector<Loop>& loops, const te::TensorNode& stage) {
    for (size_t d = 0; d < parts.result->axes.size(); ++d) {
      const std::string& axis = stage.axes[d].var->name;
      loops.push_back({axis, 1, tile.count(axis) ? LoopKind::Unroll : LoopKind::Serial});
    }
  };
  const int inner = level + static_cast<int>(tile.size());
  if (!parts.acc) {
    StageSchedule& s = at(parts.result, consumer, inner);
    for (const te::Axis& a : parts.result->reduce_axes) s.loops.push_back({a.var->name, 1});
    end_axes(s.loops, *parts.result);
    return;
  }
  const int lanes =
      static_cast<int>(std::min<int64_t>(draft.lanes(*parts.result), extent_or(parts.acc->axes.back(), 0)));
  // The registers of the parts are free once the result is computed.
  StageSchedule& acc = tile.empty() ? at(parts.acc, parts.result->name, 0) : at(parts.acc, consumer, level);
  // A few steps are written out, so that each is known to be whole or not.
  const te::Axis& last = parts.acc->reduce_axes.back();
  constexpr int64_t max_written_out = 8;  // of steps
  const bool few = tile.empty() && scalar::is_int(last.extent) && last.extent->ivalue <= max_written_out;
  for (const te::Axis& a : parts.acc->reduce_axes)
    acc.loops.push_back({a.var->name, 1, few && a.var == last.var ? LoopKind::Unroll : LoopKind::Serial});
  end_axes(acc.loops, *parts.acc);
  add_vector(acc.loops, "lane", lanes);
  for (const te::Tensor& half : parts.halves) {
    StageSchedule& s = at(half, parts.result->name, 0);
    end_axes(s.loops, *half);
    if (extent_or(half->axes.back(), 0) > lanes)
      add_vector(s.loops, "lane", lanes);
    else
      s.loops.push_back({"lane", 1, LoopKind::Vector});
  }
  StageSchedule& result = at(parts.result, consumer, inner);
  result.loops.push_back({"lane", 1, LoopKind::Unroll});
  end_axes(result.loops, *parts.result);
}

static void schedule_row(ScheduleDraft& draft, const te::Tensor& r, const te::Tensor& e, const StageFacts& facts) {
  std::string e_name = e->name;
  std::vector<std::string> order = storage_order(*e, draft.layout(e));
  std::vector<int64_t> extents;
  for (const std::string& a : order) extents.push_back(extent_or(*find_axis(*e, a), usual_rows));
  LaneParts parts = split_lanes(draft, r, facts);
  int64_t work = 1;
  for (const te::Axis& a : r->reduce_axes) work *= extent_or(a, usual_rows);
  StageSchedule& se = draft.schedule.stages[e_name];
  se = {};
  se.place = Place::Root;
  int64_t inner = work;
  for (int64_t x : extents) inner *= x;
  for (size_t i = 0; i < order.size(); ++i) {
    bool parallel = inner >= task_elements && (se.loops.empty() || se.loops.back().kind == LoopKind::Parallel);
    se.loops.push_back({order[i], 1, parallel ? LoopKind::Parallel : LoopKind::Serial});
    inner /= std::max<int64_t>(1, extents[i]);
  }
  place_parts(draft, parts, e_name, static_cast<int>(order.size()));
  draft.note(format("{}: row reduction{}", e_name, parts.acc ? " in lanes" : ""));
}

RuleCandidates row_reduction_rule(const ScheduleDraft&, const te::Tensor& r, const te::Tensor& e,
                                  const StageFacts& facts) {
  return only([&](ScheduleDraft& draft) { schedule_row(draft, r, e, facts); });
}

}  // namespace relay::lower
