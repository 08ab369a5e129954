// Sums of columns: the rows are added up in registers, each read once.
//
//   sum[j] = sum(i < 200) x[i, j]
//
// Lanes run along the rows. A task has as many vectors of columns as there are additions in flight, so that none waits
// for the previous one.
#include "relay/lower/rules/rules.h"

namespace relay::lower {

RuleCandidates column_sums_rule(const ScheduleDraft& draft, const te::Tensor& r, const te::Tensor& e,
                                const StageFacts& facts) {
  if (r->combiner != te::Combiner::Sum || r->axes.size() != 1 || r->reduce_axes.size() != 1 || facts.loads.size() != 1)
    return {};
  // With more terms, results would be less accurate: other rules split such a sum (split_long_sum).
  if (extent_or(r->reduce_axes[0], usual_row) >= 2 * terms_of_part) return {};
  const LoadFact& x = facts.loads[0];
  const int contiguous = contiguous_dim(*x.tensor, draft.layout(x.tensor));
  const std::string row = r->reduce_axes[0].var->name, column = r->axes[0].var->name;
  if (contiguous < 0 || x.coefficients[contiguous] != std::map<std::string, int64_t>{{column, 1}}) return {};

  return only([=](ScheduleDraft& of) {
    const int lanes = of.lanes(r->dtype);
    const int64_t vectors = static_cast<int64_t>(of.target->fma_latency * of.target->fma_per_cycle);
    StageSchedule& result = of.schedule.stages[e->name];
    result = {};
    result.place = Place::Root;
    result.loops = {{e->axes[0].var->name, vectors * lanes, LoopKind::Parallel}};
    add_vector(result.loops, e->axes[0].var->name, lanes);
    StageSchedule& sum = of.schedule.stages[r->name];
    sum = {};
    sum.place = Place::At, sum.consumer = e->name, sum.level = 1, sum.storage = Storage::Registers;
    sum.loops = {{row, 1}};
    add_vector(sum.loops, column, lanes);
    of.note(format("{}: sums of {} vectors of {} columns", e->name, vectors, lanes));
  });
}

}  // namespace relay::lower
