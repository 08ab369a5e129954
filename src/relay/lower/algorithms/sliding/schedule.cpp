// Groups that were joined (sliding.h), scheduled row by row. The other rules have made a kernel of each; here they move
// into the loop over the rows of the last one:
//
//   for each block of rows                     (a task)
//     for y
//       ring[rows y .. y + 3]                  only those that y - 1 did not have
//         for each few channels: a row of the first product, then its copy between zeros
//       a row of the depthwise convolution     from the ring
//       a row of the last product              register tiles, as ever
#include <algorithm>

#include "relay/lower/algorithms/sliding/sliding.h"
#include "relay/lower/rules/rules.h"

namespace relay::lower {

// The loop over rows (axis 2), one at a time; unset if there is none or products are around it.
static std::optional<int> row_loop(const te::TensorNode& stage, const StageSchedule& s) {
  if (stage.axes.size() != 4) return std::nullopt;
  for (size_t i = 0; i < s.loops.size(); ++i) {
    if (s.loops[i].axis == stage.axes[2].var->name && s.loops[i].step == 1) return static_cast<int>(i);
    if (s.loops[i].axis != stage.axes[0].var->name) return std::nullopt;
  }
  return std::nullopt;
}

int64_t rows_a_task(int64_t rows, const TargetDesc& target) {
  const int64_t tasks = std::max(2, target.cores);
  return (rows + tasks - 1) / tasks;
}

// Moves nothing if their loops have another form.
static bool move_into_rows(ScheduleDraft& draft) {
  const bool window_is_last = draft.form.as<SlidingForm>().window_is_last;
  // The roots that depend on a reduction of this group, or are the padded data of the only one, in the order of
  // computation; the last is the result.
  std::set<const te::TensorNode*> computed;
  te::Tensors chain;
  for (const te::Tensor& t : draft.stages()) {
    if (t->is_placeholder()) continue;
    const bool is_root = draft.schedule.stages[t->name].place == Place::Root;
    bool depends = t->combiner != te::Combiner::None || (window_is_last && is_root && guarded(*t));
    for (const te::Tensor& in : te::inputs(t)) depends |= computed.count(in.get()) > 0;
    if (!depends) continue;
    computed.insert(t.get());
    if (is_root) chain.push_back(t);
  }
  if (chain.size() < 2 || chain.back() != draft.outputs()[0]) return false;
  std::vector<int> row_loops;
  for (const te::Tensor& t : chain) {
    const StageSchedule& s = draft.schedule.stages[t->name];
    std::optional<int> loop = row_loop(*t, s);
    if (!loop ||
        std::none_of(s.loops.begin(), s.loops.end(), [&](const Loop& l) { return l.axis == t->axes[1].var->name; }))
      return false;
    row_loops.push_back(*loop);
  }

  const te::Tensor& last = chain.back();
  const std::string y = last->axes[2].var->name;
  const int64_t rows = rows_a_task(extent_or(last->axes[2], 1), *draft.target);
  StageSchedule& outer = draft.schedule.stages[last->name];
  const int at = row_loops.back(), level = at + 2;
  outer.loops.insert(outer.loops.begin() + at, Loop{y, rows, LoopKind::Parallel});
  for (size_t i = static_cast<size_t>(at) + 1; i < outer.loops.size(); ++i)
    if (outer.loops[i].kind == LoopKind::Parallel) outer.loops[i].kind = LoopKind::Serial;
  for (auto& [name, s] : draft.schedule.stages)
    if (s.place == Place::At && s.consumer == last->name && s.level > at) ++s.level;

  // From the window backwards: its results are a row; its data is a ring; the producers of that are a row of some
  // channels, which stays in L1 until it is copied.
  for (size_t i = chain.size() - 1; i-- > 0;) {
    StageSchedule& s = draft.schedule.stages[chain[i]->name];
    for (Loop& l : s.loops)
      if (l.kind == LoopKind::Parallel) l.kind = LoopKind::Serial;
    s.place = Place::At, s.storage = Storage::Scratch, s.consumer = last->name, s.level = level;
    const size_t behind = i + (window_is_last ? 2 : 3);
    const bool is_ring = behind == chain.size(), behind_ring = behind < chain.size();
    if (is_ring) s.ring = chain[i]->axes[2].var->name;
    if (!behind_ring) continue;
    const te::Tensor& ring = chain[i + 1];
    auto axis = [&](size_t d) { return ring->axes[d].var->name; };
    auto channels = std::find_if(s.loops.begin(), s.loops.end(),
                                 [&](const Loop& l) { return l.axis == chain[i]->axes[1].var->name; });
    std::vector<Loop>& copy = draft.schedule.stages[ring->name].loops;
    copy = {{axis(0)}, {axis(2)}, {axis(1), channels->step}, {axis(3)}};
    add_vector(copy, axis(1), draft.lanes(ring->dtype));
    s.consumer = ring->name, s.level = 3;
  }
  draft.note(format("all in tasks of {} rows, row by row", rows));
  return true;
}

bool schedule_sliding(ScheduleDraft& draft) {
  const bool moved = move_into_rows(draft);
  if (!moved) draft.note("not row by row: the loops have another form");
  return moved;
}

}  // namespace relay::lower
