// Reductions that keep a vector axis: depthwise convolution, pooling, global means over channels-last data. Lanes run along
// the contiguous data axis (channels); a few neighbouring outputs are computed together, so that a load serves several taps;
// small windows are unrolled. Of a convolution in small groups the lanes are whole groups: each lane reads its group's inputs.
#include <algorithm>

#include "relay/lower/rules.h"

namespace relay::lower {

bool window_rule(GroupPlan& plan, const te::Tensor& r, const te::Tensor& e, const StageFacts& facts) {
  if (e->axes.empty()) return false;
  std::vector<std::string> order = storage_order(*e, plan.layout(e));
  auto in_r = [&](const std::string& axis_of_e) {
    for (size_t d = 0; d < e->axes.size(); ++d)
      if (e->axes[d].var->name == axis_of_e) return r->axes[d].var->name;
    return std::string();
  };
  // The vector axis: the one stored last, if the loads are contiguous (or constant) along it.
  std::string v;
  for (size_t i = order.size(); i-- > 0 && v.empty();)
    if (extent_or(*find_axis(*e, order[i]), 64) > 1) v = order[i];
  if (v.empty()) return false;
  for (const LoadFact& l : facts.loads) {
    const Layout& layout = plan.layout(l.tensor);
    for (size_t d = 0; d < l.coefficients.size(); ++d) {
      const auto& c = l.coefficients[d];
      if (!c) continue;
      bool moves = c->count(in_r(v)), last = contiguous_dim(*l.tensor, layout) == static_cast<int>(d);
      if (moves && !last && !plan.constants.count(l.tensor->name)) return false;  // would gather
    }
  }
  // Constants (depthwise weights): the vector axis goes last.
  for (const LoadFact& l : facts.loads) {
    if (!plan.constants.count(l.tensor->name)) continue;
    Layout layout;
    int last = -1;
    for (size_t d = 0; d < l.coefficients.size(); ++d) {
      const auto& c = l.coefficients[d];
      if (c && c->count(in_r(v)))
        last = static_cast<int>(d);
      else
        layout.dims.push_back({static_cast<int>(d)});
    }
    if (last >= 0) layout.dims.push_back({last});
    plan.layouts[l.tensor->name] = layout;
    plan.schedule.layouts[l.tensor->name] = layout;
  }
  const int lanes = plan.lanes(r->dtype);
  int64_t window = 1;
  bool is_static = true;
  for (const te::Axis& a : r->reduce_axes) window *= extent_or(a, 64), is_static &= scalar::is_int(a.extent);
  constexpr int64_t most_taps = 27;  // of a window that is written out: 5 x 5, 3 x 3 x 3
  const bool small = is_static && window <= most_taps;
  // Lanes of whole groups, and what they read, in a vector each.
  const bool grouped = facts.grouped == in_r(v) && facts.group <= lanes / 2;
  const int64_t step = grouped ? lanes / facts.group * facts.group : lanes;
  // Neighbours along the axis stored just before the lanes.
  std::string x;
  for (size_t i = order.size(); i-- > 0;)
    if (order[i] != v && x.empty() && extent_or(*find_axis(*e, order[i]), 64) > 1) x = order[i];
  // Of larger windows: if neighbours share what they read.
  const bool slides =
      is_static && !x.empty() && std::any_of(facts.loads.begin(), facts.loads.end(), [&](const LoadFact& l) {
        return std::any_of(l.coefficients.begin(), l.coefficients.end(),
                           [&](const auto& c) { return c && c->size() > 1 && c->count(in_r(x)); });
      });
  int64_t tx = 1, nb = 1;
  int64_t v_extent = extent_or(*find_axis(*e, v), 64);
  if ((small || grouped || slides) && !x.empty()) {
    const int64_t extent = extent_or(*find_axis(*e, x), 64), registers = plan.target->vector_registers / 4;
    // A pool whose windows share little (a stride) reads memory and does little else: neighbouring vectors first, which come in
    // one stream. Where neighbours share what they read, or weights, neighbours first.
    const bool strided = facts.loads.size() == 1 && !grouped &&
                         std::any_of(facts.loads[0].coefficients.begin(), facts.loads[0].coefficients.end(),
                                     [&](const auto& c) { return c && c->count(in_r(x)) && c->at(in_r(x)) > 1; });
    if (strided)
      while (nb < registers / 2 && 2 * nb * lanes <= v_extent) nb *= 2;
    const int64_t most = registers / nb, tiles = (extent + most - 1) / most;
    tx = (extent + tiles - 1) / tiles;
  } else {
    nb = std::clamp<int64_t>((v_extent + lanes - 1) / lanes, 1, 4);  // long reductions: several chains
  }
  StageSchedule& se = plan.schedule.stages[e->name];
  se = {};
  se.place = Place::Root;
  int64_t tasks = 1;
  const int64_t outputs_a_task = 2048;
  int64_t all = 1;
  for (const te::Axis& a : e->axes) all *= extent_or(a, 64);
  for (const std::string& name : order) {
    if (name == v) continue;
    bool is_x = name == x && tx > 1;
    Loop loop{name, is_x ? tx : 1, LoopKind::Parallel};
    if (all * std::max<int64_t>(1, window / 8) / std::max<int64_t>(1, tasks) <= outputs_a_task ||
        (!se.loops.empty() && se.loops.back().kind == LoopKind::Serial))
      loop.kind = LoopKind::Serial;
    tasks *= (extent_or(*find_axis(*e, name), 64) + loop.step - 1) / loop.step;
    se.loops.push_back(loop);
  }
  bool all_parallel =
      std::all_of(se.loops.begin(), se.loops.end(), [](const Loop& l) { return l.kind == LoopKind::Parallel; });
  se.loops.push_back({v, nb * step, !small && all_parallel && window >= 64 ? LoopKind::Parallel : LoopKind::Serial});
  const int level = static_cast<int>(se.loops.size());
  if (tx > 1) se.loops.push_back({x, 1, LoopKind::Unroll});
  add_vector(se.loops, v, static_cast<int>(step));

  StageSchedule& sr = plan.schedule.stages[r->name];
  sr = {};
  sr.place = Place::At, sr.consumer = e->name, sr.level = level, sr.storage = Storage::Registers;
  for (const te::Axis& a : r->axes)
    if (a.var->name != in_r(v) && !(tx > 1 && a.var->name == in_r(x))) sr.loops.push_back({a.var->name, 1});
  const size_t ended = sr.loops.size();
  int64_t unrolled = 1;
  for (size_t k = r->reduce_axes.size(); k-- > 0;) {
    const te::Axis& a = r->reduce_axes[k];
    const bool unroll =
        (grouped || is_static) && scalar::is_int(a.extent) && (unrolled *= a.extent->ivalue) <= most_taps;
    sr.loops.insert(sr.loops.begin() + static_cast<int64_t>(ended),
                    {a.var->name, 1, unroll ? LoopKind::Unroll : LoopKind::Serial});
  }
  if (tx > 1) sr.loops.push_back({in_r(x), 1, LoopKind::Unroll});
  add_vector(sr.loops, in_r(v), static_cast<int>(step));
  std::string reader = r->name;  // of the data
  if (tx > 1) {
    reader = split_window(plan, r, in_r(x), tx);
    for (const LoadFact& l : facts.loads) fetch_data_ahead(plan, reader, l.tensor->name, in_r(x), tx);
    fetch_data_ahead(plan, e->name, e->name, x, tx);
  }
  plan.note(format("{}: window, {} outputs x {} vectors of {} along {}{}{}", e->name, tx, nb, step, v,
                   grouped ? format(", groups of {}", facts.group) : "", reader == r->name ? "" : ", columns first"));
  return true;
}

}  // namespace relay::lower
