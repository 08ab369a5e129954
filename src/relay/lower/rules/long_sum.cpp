// Blocked summation: the accuracy of long sums on a register tile.
#include <algorithm>
#include <cmath>

#include "relay/lower/rules.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

using scalar::imm;

namespace {
struct Split {
  size_t axis = 0;    // of the reduction axes
  int64_t inner = 0;  // terms along it in a part; 0: no split
};

// The axis and the divisor of its extent that come closest to `terms` for a part; the other axes belong to every part.
Split choose(const te::TensorNode& r, int64_t terms) {
  double all = 1;
  for (const te::Axis& a : r.reduce_axes) all *= static_cast<double>(extent_or(a, 0));
  Split best;
  if (all < 2 * static_cast<double>(terms)) return best;
  double best_distance = std::log(4.0);  // further away than four times: not worth it
  for (size_t k = 0; k < r.reduce_axes.size(); ++k) {
    int64_t extent = extent_or(r.reduce_axes[k], 0);
    for (int64_t inner = 1; inner < extent; ++inner) {
      if (extent % inner != 0) continue;
      double part = all / static_cast<double>(extent) * static_cast<double>(inner);
      double distance = std::abs(std::log(part / static_cast<double>(terms)));
      if (distance < best_distance) best_distance = distance, best = {k, inner};
    }
  }
  return best;
}
}  // namespace

void split_long_sum(GroupPlan& plan, const te::Tensor& r, int64_t terms) {
  if (r->combiner != te::Combiner::Sum || !r->dtype.is_float()) return;
  const Split split = choose(*r, terms);
  if (split.inner == 0) return;
  const te::Axis whole = r->reduce_axes[split.axis];
  const te::Axis outer{scalar::var(whole.var->name + "_part"),
                       scalar::simplify(floordiv(whole.extent, imm(split.inner)))},
      inner{scalar::var(whole.var->name), imm(split.inner)};

  te::TensorNode part = *r;
  part.name = r->name + "_part";
  part.axes.push_back(outer), part.shape.push_back(outer.extent);
  part.reduce_axes[split.axis] = inner;
  part.body = scalar::substitute(r->body, {{whole.var, outer.var * split.inner + inner.var}});
  te::Tensor part_t(new te::TensorNode(std::move(part)));

  te::TensorNode total = *r;
  const te::Axis ko{scalar::var(outer.var->name), outer.extent};
  total.reduce_axes = {ko};
  Exprs at;
  for (const te::Axis& a : total.axes) at.push_back(a.var);
  at.push_back(ko.var);
  total.body = scalar::load(part_t, at);
  plan.outputs = redirect(plan.outputs, r, te::Tensor(new te::TensorNode(std::move(total))));

  // The part keeps the schedule of the sum; the total adds it up in the same places.
  StageSchedule& of_total = plan.schedule.stages[r->name];
  StageSchedule of_part = of_total;
  of_part.consumer = r->name, of_part.level = 1;
  size_t results = 0;  // where the loops over the results begin
  while (results < of_part.loops.size() && is_reduce_axis(*r, of_part.loops[results].axis)) ++results;
  of_part.loops.insert(of_part.loops.begin() + static_cast<int64_t>(results), {outer.var->name, 1});
  of_total.storage = Storage::Stack;
  of_total.loops.erase(of_total.loops.begin(), of_total.loops.begin() + static_cast<int64_t>(results));
  of_total.loops.insert(of_total.loops.begin(), {ko.var->name, 1});
  plan.schedule.stages[part_t->name] = of_part;
}

}  // namespace relay::lower
