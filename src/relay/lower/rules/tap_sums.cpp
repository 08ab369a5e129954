// Sums over images, one for each tap of a window: the gradient of a depthwise convolution's weight.
//
//   r[o, ky, kx] = sum(n, y, x) g[n, o, y, x] * d[n, o, y + ky, x + kx]
//
// There are few results and long sums. The taps of a channel are summed together, so that a vector of g is read once
// for all of them. Lanes are columns if rows are contiguous in memory, and are added up at the end:
//
//   r_acc[o, ky, kx, lane] = sum(n, y, xo) g[n, o, y, xo * W + lane] * d[n, o, y + ky, xo * W + lane + kx]
//
// Padded data is copied into scratch memory, with its padding, so that no tap needs a test. For arrays stored
// channels-last, lanes are channels, and nothing is copied. As in every row reduction the order of a sum is fixed by
// the loops, not by threads; long ones are added in parts (long_sum.cpp).
#include <algorithm>

#include "relay/lower/rules/rule_functions.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

namespace {

// Axes are those of the sum.
struct TapSums {
  te::Tensor sum, result;             // the reduction and its epilogue
  std::vector<LoadFact> image, data;  // loads of the factor without taps, and of the one with them
  std::vector<std::string> taps{};    // axes that only the data has: of the window, and channels of a group
  std::string lanes{};                // columns, which are summed over, or channels
  bool of_channels = false;
  int64_t step = 1;                       // of channels, from vector to vector
  std::map<std::string, int64_t> tile{};  // taps that are summed together

  int64_t taps_in_tile() const {
    int64_t count = 1;
    for (const auto& [axis, extent] : tile) count *= extent;
    return count;
  }
};

int64_t terms_of(const te::TensorNode& r) {
  int64_t terms = 1;
  for (const te::Axis& a : r.reduce_axes) terms *= extent_or(a, usual_rows);
  return terms;
}

// True if some load reads along `axis` and along a summed axis, in one dimension.
bool is_tap(const te::TensorNode& r, const std::vector<LoadFact>& loads, const std::string& axis) {
  for (const LoadFact& l : loads)
    for (const auto& of : l.coefficients)
      if (of && of->count(axis))
        return std::any_of(of->begin(), of->end(), [&](const auto& c) { return is_reduce_axis(r, c.first); });
  return false;
}

// False if no factor has taps, both have, they are as many as the terms of a sum, or their number is unknown.
bool find_taps(TapSums& t, const StageFacts& facts) {
  const te::TensorNode& r = *t.sum;
  std::vector<te::Axis> axes;  // of several results, in one factor
  for (const te::Axis& a : r.axes)
    if (!scalar::is_int(a.extent, 1) && !facts.is_batch(a.var->name)) axes.push_back(a);
  auto has_taps = [&](const std::vector<LoadFact>& loads) {
    return std::any_of(axes.begin(), axes.end(), [&](const te::Axis& a) { return is_tap(r, loads, a.var->name); });
  };
  const bool of_left = has_taps(facts.left_loads);
  if (of_left == has_taps(facts.right_loads)) return false;
  t.data = of_left ? facts.left_loads : facts.right_loads, t.image = of_left ? facts.right_loads : facts.left_loads;
  int64_t count = 1;
  for (const te::Axis& a : axes) {
    const std::string& name = a.var->name;
    if (!(of_left ? facts.left : facts.right).count(name)) continue;
    if (extent_or(a, 0) < 1) return false;
    if (is_tap(r, t.data, name)) count *= a.extent->ivalue;
    t.taps.push_back(name);
  }
  return count < terms_of(r);
}

// The coefficients of the dimension whose neighbours are adjacent in memory; null if it is not affine.
const std::map<std::string, int64_t>* along_memory(const ScheduleDraft& draft, const LoadFact& l) {
  const int last = contiguous_dim(*l.tensor, draft.layout(l.tensor));
  if (last < 0) return nullptr;
  const auto& of = l.coefficients[static_cast<size_t>(last)];
  return of ? &*of : nullptr;
}

// True if reading columns with a stride, combining each vector from several, is faster than taking the taps of a row as
// lanes (window_rule).
bool pays_with_stride(const ScheduleDraft& draft, const TapSums& t, const std::map<std::string, int64_t>& along) {
  if (t.of_channels || along.at(t.lanes) == 1) return true;
  // The cost of such a vector if loads cross cache lines: 5 x 5 taps at stride 2 of rows of 14 take 84 us this way and
  // 52 us the other way.
  constexpr int64_t loads = 4;
  const int64_t columns = extent_or(*find_axis(*t.sum, t.lanes), usual_row), lanes = draft.lanes(*t.sum);
  auto vectors = [&](int64_t elements) { return (elements + lanes - 1) / lanes; };
  int64_t in_row = 1;
  for (const std::string& tap : t.taps)
    if (along.count(tap)) in_row *= find_axis(*t.sum, tap)->extent->ivalue;
  return loads * vectors(columns) * in_row <= columns * vectors(in_row);
}

// Chooses lanes: the axis along which all of the image and the data are contiguous: columns with any stride, single
// channels, or those of several groups.
bool find_lanes(const ScheduleDraft& draft, TapSums& t, const StageFacts& facts) {
  for (const LoadFact& l : t.image) {
    const auto* of = along_memory(draft, l);
    if (!of || of->size() != 1 || of->begin()->second != 1) return false;
    if (!t.lanes.empty() && t.lanes != of->begin()->first) return false;
    t.lanes = of->begin()->first;
  }
  const int64_t lanes = draft.lanes(*t.sum);
  t.of_channels = !is_reduce_axis(*t.sum, t.lanes), t.step = lanes;
  const bool of_groups = t.of_channels && t.lanes == facts.grouped;
  if (of_groups) t.step = lanes / facts.group * facts.group;
  if (of_groups && facts.group > lanes / 2) return false;
  return std::all_of(t.data.begin(), t.data.end(), [&](const LoadFact& l) {
    const auto* of = along_memory(draft, l);
    if (!of) return false;
    if (of_groups)
      return std::all_of(of->begin(), of->end(),
                         [&](const auto& c) { return c.second == 1 && !is_reduce_axis(*t.sum, c.first); });
    if (!of->count(t.lanes) || !pays_with_stride(draft, t, *of)) return false;
    return !t.of_channels || (of->size() == 1 && of->at(t.lanes) == 1);
  });
}

// The most taps that leave registers for loaded data, whole rows of them first.
void shape_tile(const ScheduleDraft& draft, TapSums& t) {
  constexpr int64_t parts = 8;  // of the registers: one is for loaded data
  const int64_t registers = draft.target->vector_registers;
  int64_t most = std::max<int64_t>(1, registers - registers / parts);
  for (size_t i = t.taps.size(); i-- > 0;) {
    const int64_t extent = find_axis(*t.sum, t.taps[i])->extent->ivalue, at_once = std::min(extent, most),
                  tiles = (extent + at_once - 1) / at_once;
    t.tile[t.taps[i]] = (extent + tiles - 1) / tiles;  // balances the tiles
    most /= t.tile[t.taps[i]];
  }
}

// Loops of the result around a tile: channels, which are tasks, then blocks of taps, then those over a tile. Returns
// the number of loops around it.
int schedule_result(ScheduleDraft& draft, const TapSums& t) {
  StageSchedule& s = draft.schedule.stages[t.result->name];
  s = {};
  s.place = Place::Root;
  auto in_result = [&](const std::string& axis) { return same_axis(*t.sum, axis, *t.result); };
  int64_t work = terms_of(*t.sum);
  for (const te::Axis& a : t.result->axes) work *= extent_or(a, usual_rows);
  std::vector<Loop> taps;
  for (const std::string& name : t.taps) taps.push_back({in_result(name), t.tile.at(name)});
  for (const std::string& name : storage_order(*t.result, draft.layout(t.result))) {
    if (std::any_of(taps.begin(), taps.end(), [&](const Loop& l) { return l.axis == name; })) continue;
    const bool parallel = work >= task_elements && (s.loops.empty() || s.loops.back().kind == LoopKind::Parallel);
    const int64_t step = t.of_channels && name == in_result(t.lanes) ? t.step : 1;
    s.loops.push_back({name, step, parallel ? LoopKind::Parallel : LoopKind::Serial});
    work /= std::max<int64_t>(1, extent_or(*find_axis(*t.result, name), usual_rows) / step);
  }
  s.loops.insert(s.loops.end(), taps.begin(), taps.end());
  const int level = static_cast<int>(s.loops.size());
  for (const Loop& tap : taps) s.loops.push_back({tap.axis, 1, LoopKind::Unroll});
  if (t.of_channels) s.loops.push_back({in_result(t.lanes), 1, LoopKind::Vector});
  return level;
}

void sum_in_lanes_of_channels(ScheduleDraft& draft, const TapSums& t, int level) {
  StageSchedule& s = draft.schedule.stages[t.sum->name];
  s = {};
  s.place = Place::At, s.consumer = t.result->name, s.level = level, s.storage = Storage::Registers;
  for (const te::Axis& k : t.sum->reduce_axes) s.loops.push_back({k.var->name, 1});
  for (const te::Axis& a : t.sum->axes)
    if (a.var->name != t.lanes)
      s.loops.push_back({a.var->name, 1, t.tile.count(a.var->name) ? LoopKind::Unroll : LoopKind::Serial});
  s.loops.push_back({t.lanes, 1, LoopKind::Vector});
  split_long_sum(draft, t.sum);
}

// If the data is computed, which includes padding: makes a copy, which `t.sum` then reads, and returns its name. "" if
// the data is read in place.
std::string copy_data(ScheduleDraft& draft, TapSums& t) {
  const Expr load = only_load(*t.sum, t.taps[0]);
  const te::Tensor from(load ? dynamic_cast<const te::TensorNode*>(load->source.get()) : nullptr);
  if (!from || from->is_placeholder()) return "";
  const StageSchedule& s = draft.schedule.stages[from->name];
  if (s.place != Place::Inline || s.reads_halo) return "";
  const te::Tensor copy = copy_stage(from, unused_name(draft, t.sum->name + "_data"));
  te::TensorNode sum = *t.sum;
  sum.body = scalar::rewrite(sum.body, [&](const Expr& e) { return e == load ? (*copy)(load->args) : e; });
  draft.redirect(t.sum, te::Tensor(new te::TensorNode(std::move(sum))));
  t.sum = draft.stage(t.sum->name);
  draft.schedule.stages[copy->name].place = Place::At;
  return copy->name;
}

void place_copy(ScheduleDraft& draft, const std::string& name, const std::string& sum) {
  const te::Tensor copy = draft.stage(name);
  StageSchedule& s = draft.schedule.stages[name];
  s.consumer = sum, s.level = 1, s.storage = Storage::Scratch;  // for an image, or for the rows of a part
  for (const te::Axis& a : copy->axes) s.loops.push_back({a.var->name, 1});
  s.loops.back().step = draft.lanes(*copy);
  s.loops.push_back({s.loops.back().axis, 1, LoopKind::Vector});
}

// Returns true if the data is copied.
bool sum_in_lanes_of_columns(ScheduleDraft& draft, TapSums& t, int level) {
  const std::string copy = copy_data(draft, t);
  const te::TensorNode& r = *t.sum;
  size_t k = 0;
  while (r.reduce_axes[k].var->name != t.lanes) ++k;
  const int64_t columns = extent_or(r.reduce_axes[k], usual_row);
  int64_t width = draft.lanes(r);
  while (width / 2 >= std::max<int64_t>(2, columns)) width /= 2;
  const LaneParts parts = split_lanes(draft, t.sum, k, width);
  place_parts(draft, parts, t.result->name, level, {t.taps.begin(), t.taps.end()});
  // A short row is written out, so that each step is known to be whole or not; in a long one, the last step is.
  constexpr int64_t max_written_out = 64;  // vectors
  const int64_t steps = (columns + width - 1) / width;
  for (Loop& l : draft.schedule.stages[parts.acc->name].loops)
    if (l.axis == t.lanes && scalar::is_int(r.reduce_axes[k].extent))
      l.kind = steps * t.taps_in_tile() <= max_written_out ? LoopKind::Unroll : LoopKind::Peeled;
  split_long_sum(draft, draft.stage(parts.acc->name));
  if (!copy.empty()) place_copy(draft, copy, parts.acc->name);
  return !copy.empty();
}

}  // namespace

static void schedule_taps(ScheduleDraft& draft, TapSums t) {
  const int level = schedule_result(draft, t);
  bool copied = false;
  if (t.of_channels)
    sum_in_lanes_of_channels(draft, t, level);
  else
    copied = sum_in_lanes_of_columns(draft, t, level);
  draft.note(format("{}: sums of {} taps, lanes along {}{}", t.result->name, t.taps_in_tile(), t.lanes,
                    copied ? ", data copied" : ""));
}

RuleCandidates tap_sums_rule(const ScheduleDraft& draft, const te::Tensor& r, const te::Tensor& e,
                             const StageFacts& facts) {
  TapSums t{r, e, {}, {}};
  if (!facts.contraction || draft.lanes(*r) < 2 || !find_taps(t, facts) || !find_lanes(draft, t, facts)) return {};
  shape_tile(draft, t);
  return only([t](ScheduleDraft& of) { schedule_taps(of, t); });
}

}  // namespace relay::lower
