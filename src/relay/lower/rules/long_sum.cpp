// Blocked summation: the accuracy of long sums on a register tile, and scales of blocks of weights (block_scales.cpp).
#include <algorithm>
#include <cmath>

#include "relay/lower/rules/narrow/block_scales.h"
#include "relay/lower/rules/rules.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

using scalar::imm;

namespace {
// The reduction axes of more than one element in the order of the stage's loops.
std::vector<te::Axis> summed(const te::TensorNode& r, const StageSchedule& s) {
  std::vector<te::Axis> out;
  for (const Loop& l : s.loops) {
    const bool known = std::any_of(out.begin(), out.end(), [&](const te::Axis& a) { return a.var->name == l.axis; });
    if (is_reduce_axis(r, l.axis) && !known && extent_or(*find_axis(r, l.axis), 0) != 1)
      out.push_back(*find_axis(r, l.axis));
  }
  return out;
}
}  // namespace

SumSplit split_sum(const std::vector<te::Axis>& axes, int64_t terms) {
  double all = 1;
  for (const te::Axis& a : axes) all *= static_cast<double>(extent_or(a, 0));
  SumSplit best;
  if (all < 2 * static_cast<double>(terms)) return best;
  double best_distance = std::log(4.0);  // if more than four times away, it is not worth it
  double inside = 1;                     // terms of the loops inside of the axis
  for (size_t k = axes.size(); k-- > 0;) {
    const int64_t extent = extent_or(axes[k], 0);
    const int64_t end = std::min(extent, static_cast<int64_t>(4 * static_cast<double>(terms) / inside) + 1);
    for (int64_t inner = 1; inner < end; ++inner) {
      if (extent % inner != 0) continue;
      double distance = std::abs(std::log(inside * static_cast<double>(inner) / static_cast<double>(terms)));
      if (distance < best_distance) best_distance = distance, best = {k, inner};
    }
    inside *= static_cast<double>(extent);
  }
  return best;
}

void split_long_sum(ScheduleDraft& draft, const te::Tensor& r, int64_t terms) {
  if (r->combiner != te::Combiner::Sum || !r->dtype.is_float()) return;
  StageSchedule& of_total = draft.schedule.stages[r->name];
  const std::vector<te::Axis> axes = summed(*r, of_total);
  const Expr product = scaled_product(draft, r);
  SumSplit split;
  if (product) split = split_by_scales(draft, product, axes, terms);
  if (split.inner == 0) split = split_sum(axes, terms);
  if (split.inner == 0) return;

  // Axes outside of the parts: data axes of the part, summed over by the total.
  te::TensorNode part = *r, total = *r;
  part.name = unused_name(draft, r->name + "_part");
  if (product) part.body = product;
  total.reduce_axes.clear();
  Exprs at;
  for (const te::Axis& a : total.axes) at.push_back(a.var);
  std::vector<Loop> outer;
  std::vector<scalar::Binding> summed_vars;  // the total's variable for each of the part's
  auto kind_of = [&](const te::Axis& a) {
    for (const Loop& l : of_total.loops)
      if (l.axis == a.var->name && l.kind == LoopKind::SkipPadding) return l.kind;
    return LoopKind::Serial;
  };
  auto leave_part = [&](const te::Axis& a) {
    const te::Axis summed{scalar::var(a.var->name), a.extent};
    part.axes.push_back(a), part.shape.push_back(a.extent);
    total.reduce_axes.push_back(summed), at.push_back(summed.var), outer.push_back({a.var->name, 1, kind_of(a)});
    summed_vars.push_back({a.var, summed.var});
  };
  for (size_t k = 0; k <= split.at; ++k) {
    auto whole = std::find_if(part.reduce_axes.begin(), part.reduce_axes.end(),
                              [&](const te::Axis& a) { return a.var == axes[k].var; });
    if (k < split.at || split.inner == 1) {
      leave_part(*whole);
      part.reduce_axes.erase(whole);
      continue;
    }
    const te::Axis inner{scalar::var(whole->var->name), imm(split.inner)},
        steps{scalar::var(whole->var->name + "_part"), scalar::simplify(floordiv(whole->extent, imm(split.inner)))};
    part.body = scalar::substitute(part.body, {{whole->var, steps.var * split.inner + inner.var}});
    *whole = inner;
    leave_part(steps);
  }
  const Expr scale = product ? take_out_scales(draft, part) : Expr();
  const te::Tensor part_t(new te::TensorNode(std::move(part)));
  total.body = scalar::load(part_t, at);
  if (scale) total.body = total.body * scalar::substitute(scale, summed_vars);
  draft.redirect(r, te::Tensor(new te::TensorNode(std::move(total))));

  // The part keeps the schedule of the sum; the total adds it up in the same places.
  StageSchedule of_part = of_total;
  of_part.consumer = r->name, of_part.level = static_cast<int>(outer.size());
  std::erase_if(of_part.loops,
                [&](const Loop& l) { return is_reduce_axis(*r, l.axis) && !is_reduce_axis(*part_t, l.axis); });
  size_t results = 0;  // number of the first loop over the results
  while (results < of_part.loops.size() && is_reduce_axis(*r, of_part.loops[results].axis)) ++results;
  for (const Loop& l : outer)  // one step each
    of_part.loops.insert(of_part.loops.begin() + static_cast<int64_t>(results++), Loop{l.axis, 1});
  of_total.storage = Storage::Stack;
  std::erase_if(of_total.loops, [&](const Loop& l) { return is_reduce_axis(*r, l.axis); });
  of_total.loops.insert(of_total.loops.begin(), outer.begin(), outer.end());
  draft.schedule.stages[part_t->name] = of_part;
  draft.parts[r->name] = part_t->name;
}

}  // namespace relay::lower
