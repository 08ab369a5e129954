// A long row with a single result: a loss, the mean of a whole array. Its parts are tasks, whose results are summed
// up at the end:
//
//   part[t] = sum(k < 16384) x[t * 16384 + k]
//   out = sum(t) part[t]
//
// The parts depend on the row's length only, so results do not depend on the number of threads. A row that does not
// divide into parts of about that length stays one sum (row_reduction_rule).
#include "relay/lower/rules/rule_functions.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

// Elements of a part: a task takes a few microseconds, which outweighs the hand-over to another thread. 0 if no such
// part divides the row.
static int64_t part_of(int64_t elements) {
  constexpr int64_t least = 2 * task_elements, most = 4 * least;  // sums, which only read, are twice as fast
  constexpr int64_t vectors = 64;                                 // elements: whole vectors of any machine
  if (elements < 4 * least) return 0;
  for (int64_t part = most; part >= least; part -= vectors)
    if (elements % part == 0) return part;
  return 0;
}

// Divides the sum of `elements` elements into parts of `length`.
static void divide(ScheduleDraft& draft, const te::Tensor& r, const te::Tensor& e, int64_t elements, int64_t length) {
  const std::string sum_name = r->name, result_name = e->name;
  const te::Tensor part =
      te::reduce(unused_name(draft, sum_name + "_part"), {scalar::imm(elements / length)}, {scalar::imm(length)},
                 r->combiner, [&](const Exprs& i, const Exprs& k) {
                   std::vector<scalar::Binding> bindings{{r->reduce_axes[0].var, i[0] * length + k[0]}};
                   for (const te::Axis& a : r->axes) bindings.push_back({a.var, scalar::imm(0)});
                   return scalar::substitute(r->body, bindings);
                 });
  const te::Tensor parts = copy_stage(part, part->name + "s");
  te::TensorNode whole = *r;  // keeps its name and axes, so that readers stay unchanged
  whole.reduce_axes = {{scalar::var("t"), scalar::imm(elements / length)}};
  whole.body = (*parts)({whole.reduce_axes[0].var});
  draft.replace(r, te::Tensor(new te::TensorNode(std::move(whole))));

  for (const std::string& stage : {part->name, parts->name}) draft.schedule.stages[stage].place = Place::Root;
  for (const auto& [sum, result] : {std::pair(part->name, parts->name), std::pair(sum_name, result_name)}) {
    const te::Tensor now = draft.stage(sum);
    apply(draft, sum, row_reduction_rule(draft, now, draft.stage(result), facts_of(now, draft.expanded(now))));
  }
  draft.note(format("{}: in {} parts", result_name, elements / length));
}

RuleCandidates long_row_rule(const ScheduleDraft& draft, const te::Tensor& r, const te::Tensor& e,
                             const StageFacts& facts) {
  auto is_one = [](const te::Axis& a) { return scalar::is_int(a.extent, 1); };
  if (r->reduce_axes.size() != 1 || te::has_several_values(*r) || !std::all_of(r->axes.begin(), r->axes.end(), is_one))
    return {};
  const int64_t elements = extent_or(r->reduce_axes[0], 0), length = part_of(elements);
  if (length == 0 || contiguous_axis(draft, facts) < 0) return {};
  return only([&r, &e, elements, length](ScheduleDraft& of) { divide(of, r, e, elements, length); });
}

}  // namespace relay::lower
