// Elementwise work and data movement: walk the output in storage order, lanes along its contiguous axis, a few vectors a
// step, whole rows to each task.
#include <algorithm>

#include "relay/lower/rules.h"

namespace relay::lower {

void elementwise_rule(GroupPlan& plan, const te::Tensor& e) {
  constexpr int64_t task_elements = 4096;  // about a microsecond of work: less is not worth a task of its own
  StageSchedule& s = plan.schedule.stages[e->name];
  s.place = Place::Root;
  s.loops.clear();
  std::vector<std::string> order = storage_order(*e, plan.layout(e));
  // Axes of one element only would leave the lanes empty.
  int vector = -1;
  for (int i = static_cast<int>(order.size()) - 1; i >= 0 && vector < 0; --i)
    if (extent_or(*find_axis(*e, order[i]), 1024) > 1) vector = i;
  int64_t inner = 1;  // elements below the axis looked at
  std::vector<bool> parallel(order.size(), false);
  for (int i = static_cast<int>(order.size()) - 1; i >= 0; --i) {
    parallel[i] = inner >= task_elements && i != vector;
    inner *= extent_or(*find_axis(*e, order[i]), 64);
  }
  int lanes = plan.lanes(e->dtype);
  // A single long row: cut it into tasks.
  int64_t row = vector < 0 ? 1 : extent_or(*find_axis(*e, order[vector]), 1024);
  bool cut_row = vector >= 0 && row >= 2 * task_elements &&
                 std::none_of(parallel.begin(), parallel.end(), [](bool p) { return p; });
  if (cut_row) s.loops.push_back({order[vector], task_elements, LoopKind::Parallel});
  for (size_t i = 0; i < order.size(); ++i)
    if (parallel[i]) s.loops.push_back({order[i], 1, LoopKind::Parallel});
  for (size_t i = 0; i < order.size(); ++i)
    if (!parallel[i] && static_cast<int>(i) != vector) s.loops.push_back({order[i], 1});
  if (vector >= 0) {
    if (row >= 4 * lanes) s.loops.push_back({order[vector], 4 * lanes});
    add_vector(s.loops, order[vector], lanes);
  }
  plan.note(format("{}: elementwise, {} lanes along {}", e->name, lanes, vector < 0 ? "nothing" : order[vector]));
}

}  // namespace relay::lower
