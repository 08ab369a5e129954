// Reductions that keep a vector axis: depthwise convolution, pooling, global means over channels-last data. Lanes run
// along the contiguous data axis (channels); a few neighbouring outputs are computed together, so that a load serves
// several taps; small windows are unrolled. In a convolution with small groups the lanes are whole groups: each lane
// reads its group's inputs.
#include <algorithm>
#include <set>

#include "relay/base/lane_reads.h"
#include "relay/lower/rules/rule_functions.h"

namespace relay::lower {

namespace {
// The reads of neighbouring windows along an axis.
struct Reach {
  int64_t stride = 0;  // how much further the next window reads; 0: the axis does not move any read
  std::vector<std::pair<int64_t, int64_t>> taps;  // extents and distances

  int64_t places(int64_t neighbours) const {
    std::set<int64_t> read;
    for (int64_t i = 0; i < neighbours; ++i) read.insert(i * stride);
    for (auto [extent, distance] : taps)
      for (const int64_t first : std::set(read))
        for (int64_t i = 1; i < extent; ++i) read.insert(first + i * distance);
    return static_cast<int64_t>(read.size());
  }
  bool overlap() const { return stride > 0 && places(2) < 2 * places(1); }
};

Reach reach_along(const te::TensorNode& r, const StageFacts& facts, const std::string& axis) {
  constexpr int64_t max_taps = 64;  // more of them make no difference to a tile
  for (const LoadFact& l : facts.loads)
    for (const auto& c : l.coefficients) {
      if (!c || !c->count(axis) || c->size() < 2) continue;
      Reach reach{std::abs(c->at(axis)), {}};
      for (const auto& [name, distance] : *c)
        if (is_reduce_axis(r, name))
          reach.taps.push_back({std::min(extent_or(*find_axis(r, name), max_taps), max_taps), std::abs(distance)});
      return reach;
    }
  return {};
}

// Rows, neighbours in a row, and vectors that are computed together.
struct WindowTile {
  int64_t ty = 1, tx = 1, nb = 1;
  double loads = 0;  // of all results, for each vector
};

// The choices of at most `most` places: the one with the fewest loads comes first, where a load takes as long as two of
// the additions that `split_window` leaves to columns. Several rows only if `registers` hold their columns.
std::vector<WindowTile> tiles_of(int64_t rows, const Reach& down, int64_t columns, const Reach& along, bool only_adds,
                                 int64_t most, int64_t registers) {
  if (rows < 1 || columns < 1) return {{}};  // nothing to compute
  auto tiles = [](int64_t extent, int64_t step) { return (extent + step - 1) / step; };
  auto reads = [](const Reach& r, int64_t extent, int64_t step) {
    return extent / step * r.places(step) + r.places(extent % step);
  };
  const int64_t adds = only_adds ? rows * down.places(1) : 0;  // per column
  std::vector<WindowTile> out;
  for (int64_t ty = 1; ty <= std::min(rows, most); ++ty) {
    const int64_t tx = std::min(columns, most / ty), held = ty * (along.places(tx) + tx);
    const int64_t cost = reads(along, columns, tx) * (2 * reads(down, rows, ty) + adds);
    if (ty != 1 && held > registers) continue;
    const WindowTile tile{ty, tx, 1, static_cast<double>(cost) / 2};
    out.insert(std::ranges::upper_bound(out, tile.loads, {}, &WindowTile::loads), tile);
  }
  for (WindowTile& t : out)  // no smaller at the end than needed
    t.ty = tiles(rows, tiles(rows, t.ty)), t.tx = tiles(columns, tiles(columns, t.tx));
  return out;
}
// Windows on their way to loops. Axes are those of the result.
struct Windows {
  te::Tensor sum, result;          // the reduction, of any kind, and its epilogue
  const StageFacts& facts;         // of the sum
  std::vector<std::string> order;  // as the result is stored, outermost first
  int lanes = 1;

  std::string v{}, x{}, y{};  // the lanes' axis, stored last, and the two stored before it; "" if absent
  int64_t taps = 1;           // per window
  bool is_static = true;      // taps are known
  bool small = false;         // few enough to be written out
  bool grouped = false;       // lanes are whole groups, whose inputs are a vector each
  int64_t step = 1;           // from vector to vector

  int64_t tx = 1, ty = 1, nb = 1;  // computed together: places along x and y, vectors

  int64_t extent(const std::string& axis) const { return extent_or(*find_axis(*result, axis), usual_rows); }
  std::string in_sum(const std::string& axis) const { return same_axis(*result, axis, *sum); }
  int64_t tile_along(const std::string& axis) const { return axis == x ? tx : axis == y ? ty : 1; }
};

constexpr int64_t max_taps = 27;  // of a window that is written out: 5 x 5, 3 x 3 x 3

// True if lanes along dimension `d` of the load are so near each other that they are read as a few runs: only short
// dimensions follow it, such as a short row that is summed.
bool is_near(const ScheduleDraft& draft, const LoadFact& l, size_t d, int64_t coefficient) {
  if (!draft.layout(l.tensor).is_row_major()) return false;
  int64_t distance = coefficient;
  for (size_t behind = d + 1; behind < l.tensor->shape.size(); ++behind) {
    const Expr& extent = l.tensor->shape[behind];
    if (!scalar::is_int(extent) || extent->ivalue > static_cast<int64_t>(max_lane_runs)) return false;
    distance *= extent->ivalue;
  }
  return distance > 0 && distance <= static_cast<int64_t>(max_lane_runs);
}

// False if there is no axis for lanes: the one stored last, if the loads are near each other along it, or constant.
bool find_axes(const ScheduleDraft& draft, Windows& w) {
  for (size_t i = w.order.size(); i-- > 0 && w.y.empty();)
    if (w.extent(w.order[i]) != 1) (w.v.empty() ? w.v : w.x.empty() ? w.x : w.y) = w.order[i];
  if (w.v.empty() || w.extent(w.v) == 0) return false;
  for (const LoadFact& l : w.facts.loads) {
    if (draft.constants.count(l.tensor->name)) continue;
    const int last = contiguous_dim(*l.tensor, draft.layout(l.tensor));
    for (size_t d = 0; d < l.coefficients.size(); ++d) {
      const auto& c = l.coefficients[d];
      if (!c || static_cast<int>(d) == last) continue;
      const auto moved = c->find(w.in_sum(w.v));
      if (moved != c->end() && !is_near(draft, l, d, moved->second)) return false;  // would gather
    }
  }
  return true;
}

void measure(Windows& w) {
  for (const te::Axis& a : w.sum->reduce_axes)
    w.taps *= extent_or(a, usual_rows), w.is_static &= scalar::is_int(a.extent);
  w.small = w.is_static && w.taps <= max_taps;
  w.grouped = w.facts.grouped == w.in_sum(w.v) && w.facts.group <= w.lanes / 2;
  w.step = w.grouped ? w.lanes / w.facts.group * w.facts.group : w.lanes;
}

// The places and vectors that may be computed together, preferred ones first, without those of the same numbers.
std::vector<WindowTile> tiles_to_try(const TargetDesc& target, const Windows& w, std::vector<WindowTile> tiles) {
  constexpr size_t most = 8;  // further ones read much more
  tiles.resize(std::min(most, tiles.size()));
  for (const int64_t nb : {2 * tiles[0].nb, tiles[0].nb / 2}) {
    const bool fits = 2 * nb * tiles[0].tx * tiles[0].ty <= target.vector_registers;
    if (nb >= 1 && fits && (nb == 1 || (nb - 1) * w.lanes < w.extent(w.v)))
      tiles.push_back({tiles[0].ty, tiles[0].tx, nb, tiles[0].loads});
  }
  std::vector<WindowTile> out;
  for (const WindowTile& t : tiles)
    if (std::none_of(out.begin(), out.end(),
                     [&](const WindowTile& o) { return o.ty == t.ty && o.tx == t.tx && o.nb == t.nb; }))
      out.push_back(t);
  return out;
}

std::vector<WindowTile> tiles_of_windows(const ScheduleDraft& draft, const Windows& w) {
  const Reach along = reach_along(*w.sum, w.facts, w.in_sum(w.x));
  const int64_t v_extent = w.extent(w.v), registers = draft.target->vector_registers;
  // Larger windows only if neighbours share reads.
  if (w.x.empty() || !(w.small || w.grouped || (w.is_static && along.stride > 0))) {
    // Long reductions: several chains.
    const int64_t chains = std::clamp<int64_t>((v_extent + w.lanes - 1) / w.lanes, 1, 4);
    return tiles_to_try(*draft.target, w, {{1, 1, chains}});
  }
  const Reach down = reach_along(*w.sum, w.facts, w.in_sum(w.y));
  // A pool whose windows share little (strides both ways) mostly reads memory: neighbouring vectors come first, in one
  // stream. If neighbours share reads, or weights, neighbours come first.
  const bool pool = w.facts.loads.size() == 1 && !w.grouped;
  const bool overlap = along.overlap() && down.overlap() && !draft.form.is_merged();
  constexpr int64_t parts = 8;  // of the registers: sums, and the other loads of pools with overlapping windows
  int64_t nb = 1;
  if (pool && along.stride > 1 && down.stride != 1)
    while (nb < registers / (overlap ? 2 * parts : parts) && 2 * nb * w.lanes <= v_extent) nb *= 2;
  std::vector<WindowTile> tiles = tiles_of(overlap ? w.extent(w.y) : 1, down, w.extent(w.x), along,
                                           pool && along.stride == 1, registers / 4 / nb, registers);
  for (WindowTile& t : tiles) t.nb = nb;
  return tiles_to_try(*draft.target, w, std::move(tiles));
}

void add_tile(std::vector<Loop>& loops, const Windows& w, bool of_result) {
  auto name = [&](const std::string& axis) { return of_result ? axis : w.in_sum(axis); };
  if (w.ty > 1) loops.push_back({name(w.y), 1, LoopKind::Unroll});
  if (w.tx > 1) loops.push_back({name(w.x), 1, LoopKind::Unroll});
  add_vector(loops, name(w.v), static_cast<int>(w.step));
}

// Returns the number of loops around a tile.
int schedule_result(ScheduleDraft& draft, const Windows& w) {
  StageSchedule& s = draft.schedule.stages[w.result->name];
  s = {};
  s.place = Place::Root;
  constexpr int64_t taps_of_small = 8;  // up to this number, the work around a window takes as long as its taps
  int64_t tasks = 1, outputs = 1;
  for (const te::Axis& a : w.result->axes) outputs *= extent_or(a, usual_rows);
  for (const std::string& name : w.order) {
    if (name == w.v) continue;
    Loop loop{name, w.tile_along(name), LoopKind::Parallel};
    if (outputs * std::max<int64_t>(1, w.taps / taps_of_small) / std::max<int64_t>(1, tasks) <= task_windows ||
        (!s.loops.empty() && s.loops.back().kind == LoopKind::Serial))
      loop.kind = LoopKind::Serial;
    tasks *= (w.extent(name) + loop.step - 1) / loop.step;
    s.loops.push_back(loop);
  }
  const bool all_parallel =
      std::all_of(s.loops.begin(), s.loops.end(), [](const Loop& l) { return l.kind == LoopKind::Parallel; });
  constexpr int64_t taps_of_task = 64;  // a few vectors of such sums are a task
  const bool parallel = !w.small && all_parallel && w.taps >= taps_of_task;
  s.loops.push_back({w.v, w.nb * w.step, parallel ? LoopKind::Parallel : LoopKind::Serial});
  const int level = static_cast<int>(s.loops.size());
  add_tile(s.loops, w, true);
  return level;
}

void schedule_sum(ScheduleDraft& draft, const Windows& w, int level) {
  StageSchedule& s = draft.schedule.stages[w.sum->name];
  s = {};
  s.place = Place::At, s.consumer = w.result->name, s.level = level, s.storage = Storage::Registers;
  for (const te::Axis& a : w.result->axes) {  // of one element left at this level
    const std::string& name = a.var->name;
    if (name != w.v && !(w.tx > 1 && name == w.x) && !(w.ty > 1 && name == w.y)) s.loops.push_back({w.in_sum(name), 1});
  }
  const auto taps = static_cast<int64_t>(s.loops.size());
  int64_t unrolled = 1;
  for (size_t k = w.sum->reduce_axes.size(); k-- > 0;) {
    const te::Axis& a = w.sum->reduce_axes[k];
    const bool unroll =
        (w.grouped || w.is_static) && scalar::is_int(a.extent) && (unrolled *= a.extent->ivalue) <= max_taps;
    s.loops.insert(s.loops.begin() + taps, {a.var->name, 1, unroll ? LoopKind::Unroll : LoopKind::Serial});
  }
  add_tile(s.loops, w, false);
}
}  // namespace

static void schedule_windows(ScheduleDraft& draft, const Windows& w) {
  store_constants_along(draft, w.facts, w.in_sum(w.v));  // a depthwise convolution's weights
  schedule_sum(draft, w, schedule_result(draft, w));
  std::string reader = w.sum->name;  // of the data
  if (w.tx * w.ty > 1) {
    const std::string x = w.in_sum(w.x);
    reader = split_window(draft, w.sum, x, w.tx, w.ty);
    for (const LoadFact& l : w.facts.loads) prefetch_data(draft, reader, l.tensor->name, x, w.tx);
    prefetch_data(draft, w.result->name, w.result->name, w.x, w.tx);
  } else {
    split_long_sum(draft, w.sum);  // of a whole image
  }
  draft.note(format("{}: window, {}{} outputs x {} vectors of {} along {}{}{}", w.result->name,
                    w.ty > 1 ? format("{} x ", w.ty) : "", w.tx, w.nb, w.step, w.v,
                    w.grouped ? format(", groups of {}", w.facts.group) : "",
                    reader == w.sum->name ? "" : ", columns first"));
}

RuleCandidates window_rule(const ScheduleDraft& draft, const te::Tensor& r, const te::Tensor& e,
                           const StageFacts& facts) {
  Windows w{r, e, facts, storage_order(*e, draft.layout(e)), draft.lanes(*r)};
  if (!find_axes(draft, w)) return {};
  measure(w);
  const double vectors = static_cast<double>((w.extent(w.v) + w.step - 1) / w.step),
               ns_per_load = vectors / (draft.target->fma_per_cycle * draft.target->ghz);
  RuleCandidates out;
  for (const WindowTile& t : tiles_of_windows(draft, w)) {
    w.ty = t.ty, w.tx = t.tx, w.nb = t.nb;
    const std::string name = format("{}x{}x{}", t.ty, t.tx, t.nb);
    out.push_back({{{"window", name}}, t.loads * ns_per_load, [w](ScheduleDraft& of) { schedule_windows(of, w); }});
  }
  return out;
}

}  // namespace relay::lower
