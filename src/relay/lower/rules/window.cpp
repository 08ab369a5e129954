// Reductions that keep a vector axis: depthwise convolution, pooling, global means over channels-last data. Lanes run along
// the contiguous data axis (channels); a few neighbouring outputs are computed together, so that a load serves several taps;
// small windows are unrolled. Of a convolution in small groups the lanes are whole groups: each lane reads its group's inputs.
#include <algorithm>
#include <set>
#include <tuple>

#include "relay/lower/rules.h"

namespace relay::lower {

namespace {
// What windows that are neighbours along an axis read along it.
struct Reach {
  int64_t stride = 0;  // how much further the next one reads; 0: the axis moves nothing that is read
  std::vector<std::pair<int64_t, int64_t>> taps;  // extents, and how far apart

  int64_t places(int64_t neighbours) const {
    std::set<int64_t> read;
    for (int64_t i = 0; i < neighbours; ++i) read.insert(i * stride);
    for (auto [extent, apart] : taps)
      for (const int64_t first : std::set(read))
        for (int64_t i = 1; i < extent; ++i) read.insert(first + i * apart);
    return static_cast<int64_t>(read.size());
  }
  bool overlap() const { return stride > 0 && places(2) < 2 * places(1); }
};

Reach reach_along(const te::TensorNode& r, const StageFacts& facts, const std::string& axis) {
  constexpr int64_t most_taps = 64;  // more of them make no difference to a tile
  for (const LoadFact& l : facts.loads)
    for (const auto& c : l.coefficients) {
      if (!c || !c->count(axis) || c->size() < 2) continue;
      Reach reach{std::abs(c->at(axis)), {}};
      for (const auto& [name, apart] : *c)
        if (is_reduce_axis(r, name))
          reach.taps.push_back({std::min(extent_or(*find_axis(r, name), most_taps), most_taps), std::abs(apart)});
      return reach;
    }
  return {};
}

// Rows and neighbours in a row that are computed together, at most `most` of them: those that load least in all, where a load
// takes as long as two of the additions that `split_window` leaves to columns. Several rows only if `registers` hold their columns.
std::pair<int64_t, int64_t> tile_of(int64_t rows, const Reach& down, int64_t columns, const Reach& along,
                                    bool only_adds, int64_t most, int64_t registers) {
  auto tiles = [](int64_t extent, int64_t step) { return (extent + step - 1) / step; };
  auto reads = [](const Reach& r, int64_t extent, int64_t step) {
    return extent / step * r.places(step) + r.places(extent % step);
  };
  const int64_t adds = only_adds ? rows * down.places(1) : 0;  // for each column
  std::pair<int64_t, int64_t> best;
  int64_t least = 0;
  for (int64_t ty = 1; ty <= std::min(rows, most); ++ty) {
    const int64_t tx = std::min(columns, most / ty), held = ty * (along.places(tx) + tx);
    const int64_t cost = reads(along, columns, tx) * (2 * reads(down, rows, ty) + adds);
    if (ty == 1 || (cost < least && held <= registers)) least = cost, best = {ty, tx};
  }
  // No smaller at the end than need be.
  for (auto [t, extent] : {std::pair(&best.first, rows), std::pair(&best.second, columns)})
    *t = tiles(extent, tiles(extent, *t));
  return best;
}
}  // namespace

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
  std::string x, y;
  for (size_t i = order.size(); i-- > 0;) {
    if (order[i] == v || extent_or(*find_axis(*e, order[i]), 64) == 1) continue;
    if (x.empty())
      x = order[i];
    else if (y.empty())
      y = order[i];
  }
  // Of larger windows: if neighbours share what they read.
  const Reach along = reach_along(*r, facts, in_r(x));
  const bool slides = is_static && along.stride > 0;
  int64_t tx = 1, ty = 1, nb = 1;
  int64_t v_extent = extent_or(*find_axis(*e, v), 64);
  if ((small || grouped || slides) && !x.empty()) {
    const int64_t extent = extent_or(*find_axis(*e, x), 64), registers = plan.target->vector_registers;
    const Reach down = reach_along(*r, facts, in_r(y));
    // A pool whose windows share little (strides both ways) reads memory and does little else: neighbouring vectors first, which
    // come in one stream. Where neighbours share what they read, or weights, neighbours first.
    const bool pool = facts.loads.size() == 1 && !grouped;
    const bool overlap = along.overlap() && down.overlap() && !plan.slides;
    if (pool && along.stride > 1 && down.stride != 1)
      while (nb < registers / (overlap ? 16 : 8) && 2 * nb * lanes <= v_extent) nb *= 2;
    std::tie(ty, tx) = tile_of(overlap ? extent_or(*find_axis(*e, y), 64) : 1, down, extent, along,
                               pool && along.stride == 1, registers / 4 / nb, registers);
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
    Loop loop{name, name == x ? tx : name == y ? ty : 1, LoopKind::Parallel};
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
  auto add_tile = [&](std::vector<Loop>& loops, auto name) {
    if (ty > 1) loops.push_back({name(y), 1, LoopKind::Unroll});
    if (tx > 1) loops.push_back({name(x), 1, LoopKind::Unroll});
  };
  add_tile(se.loops, [](const std::string& axis) { return axis; });
  add_vector(se.loops, v, static_cast<int>(step));

  StageSchedule& sr = plan.schedule.stages[r->name];
  sr = {};
  sr.place = Place::At, sr.consumer = e->name, sr.level = level, sr.storage = Storage::Registers;
  for (const te::Axis& a : r->axes)
    if (a.var->name != in_r(v) && !(tx > 1 && a.var->name == in_r(x)) && !(ty > 1 && a.var->name == in_r(y)))
      sr.loops.push_back({a.var->name, 1});
  const size_t ended = sr.loops.size();
  int64_t unrolled = 1;
  for (size_t k = r->reduce_axes.size(); k-- > 0;) {
    const te::Axis& a = r->reduce_axes[k];
    const bool unroll =
        (grouped || is_static) && scalar::is_int(a.extent) && (unrolled *= a.extent->ivalue) <= most_taps;
    sr.loops.insert(sr.loops.begin() + static_cast<int64_t>(ended),
                    {a.var->name, 1, unroll ? LoopKind::Unroll : LoopKind::Serial});
  }
  add_tile(sr.loops, in_r);
  add_vector(sr.loops, in_r(v), static_cast<int>(step));
  std::string reader = r->name;  // of the data
  if (tx * ty > 1) {
    reader = split_window(plan, r, in_r(x), tx, ty);
    for (const LoadFact& l : facts.loads) fetch_data_ahead(plan, reader, l.tensor->name, in_r(x), tx);
    fetch_data_ahead(plan, e->name, e->name, x, tx);
  }
  plan.note(format("{}: window, {}{} outputs x {} vectors of {} along {}{}{}", e->name,
                   ty > 1 ? format("{} x ", ty) : "", tx, nb, step, v,
                   grouped ? format(", groups of {}", facts.group) : "", reader == r->name ? "" : ", columns first"));
  return true;
}

}  // namespace relay::lower
