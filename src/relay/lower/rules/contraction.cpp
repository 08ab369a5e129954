// Contractions: dense, batched matmul, convolution of any rank. One axis N stands only in the right factor (the weight, as
// a rule): its lanes are the vectors. A register tile holds MR rows of the left factor times NB vectors of N; the reduction
// runs over it with one load of NB weight vectors and MR broadcasts a step, so MR * NB + NB + 1 registers are alive. The
// right factor is packed so that a tile reads it in one contiguous stream: when the program is built if it is constant, else
// panel by panel while the kernel runs (panel.cpp), if there are rows enough to pay for that.
//
// Of images stored by channels (lower/planar.h) the right factor is the data: lanes run along their rows.
//
// A grouped convolution is a contraction for each group, if a group has enough outputs to fill vectors; window_rule takes the
// others.
#include <algorithm>
#include <cmath>

#include "relay/lower/rules.h"

namespace relay::lower {

// Packing costs about as much as four rows of the product.
constexpr int64_t rows_for_panel = 16;

// An epilogue of polynomials, written out for each row of a tile, is long code and no faster: it becomes a loop over the rows,
// and the sums lie on the stack.
static void loop_over_epilogue(GroupPlan& plan, const std::string& sum, const std::string& epilogue) {
  StageSchedule& se = plan.schedule.stages[epilogue];
  if (!is_expensive(expand(plan.stages(), plan.schedule).body(*plan.stage(epilogue)))) return;
  const te::Tensor r = plan.stage(sum);
  StageSchedule& sr = plan.schedule.stages[sum];
  if (sr.storage == Storage::Registers) {
    const te::Tensor kept = copy_stage(r, sum + "_kept");
    plan.outputs = redirect(plan.outputs, r, kept);
    StageSchedule s = sr;
    s.storage = Storage::Stack;
    std::erase_if(s.loops, [&](const Loop& l) { return is_reduce_axis(*r, l.axis); });
    sr.consumer = kept->name, sr.level = 0;
    plan.schedule.stages[kept->name] = s;
  }
  const std::string lanes = se.loops.back().axis;
  for (Loop& l : se.loops)
    if (l.kind == LoopKind::Unroll && l.axis != lanes) l.kind = LoopKind::Serial;
}

// True for constants without infinities and NaN.
static bool is_finite(const GroupPlan& plan, const std::vector<LoadFact>& loads) {
  return std::all_of(loads.begin(), loads.end(), [&](const LoadFact& l) {
    const auto it = plan.values.find(l.tensor->name);
    if (it == plan.values.end()) return false;
    if (!l.tensor->dtype.is_float()) return true;
    if (l.tensor->dtype != DType::float32()) return false;
    const float* values = static_cast<const float*>(it->second.data());
    return std::all_of(values, values + it->second.elements(), [](float v) { return std::isfinite(v); });
  });
}

// True if neighbours along an axis are stored side by side.
static bool is_contiguous(GroupPlan& plan, const LoadFact& load, const std::string& axis) {
  const Layout& layout = plan.layout(load.tensor);
  if (layout.dims.empty()) return false;
  const auto& last = load.coefficients[static_cast<size_t>(layout.dims.back().dim)];
  return last && last->count(axis);
}

// True if neighbouring results read the same elements: their windows overlap.
static bool overlaps(const te::TensorNode& r, const LoadFact& load) {
  return std::any_of(load.coefficients.begin(), load.coefficients.end(), [&](const auto& c) {
    if (!c) return true;
    int64_t step = 0, taps = 1;
    for (const auto& [axis, coefficient] : *c)
      if (is_reduce_axis(r, axis))
        taps += coefficient * (extent_or(*find_axis(r, axis), 1) - 1);
      else
        step = coefficient;
    return step > 0 && taps > step;
  });
}

bool contraction_rule(GroupPlan& plan, const te::Tensor& r, const te::Tensor& e, const StageFacts& facts) {
  if (!facts.contraction) return false;
  int lanes = plan.lanes(r->dtype);
  std::vector<std::string> order = storage_order(*e, plan.layout(e));
  auto position = [&](const std::string& axis_of_r) {  // the epilogue's axes stand in the same places
    for (size_t d = 0; d < r->axes.size(); ++d)
      if (r->axes[d].var->name == axis_of_r) return d;
    return r->axes.size();
  };
  auto in_e = [&](const std::string& axis_of_r) { return e->axes[position(axis_of_r)].var->name; };
  // A depthwise or grouped convolution: both factors have the axis along which results are stored, and one has no other of the
  // result. Vectors go along that axis, which is another rule's; the batch, which only the data have, would scatter them.
  auto owns = [&](const std::set<std::string>& own, const std::set<std::string>& other) {
    return std::any_of(r->axes.begin(), r->axes.end(),
                       [&](const te::Axis& a) { return own.count(a.var->name) && !other.count(a.var->name); });
  };
  if (!owns(facts.left, facts.right) || !owns(facts.right, facts.left))
    for (const te::Axis& a : r->axes)
      if (in_e(a.var->name) == order.back() && facts.is_batch(a.var->name)) return false;
  // N: the largest data axis that only one factor has. The other factor is then the left one.
  std::set<std::string> left = facts.left, right = facts.right;
  std::vector<LoadFact> right_loads = facts.right_loads, left_loads = facts.left_loads;
  std::string n;
  int64_t n_extent = 0;
  bool swapped = false;
  auto consider = [&](const std::set<std::string>& own, const std::set<std::string>& other,
                      const std::vector<LoadFact>& loads, bool swap) {
    bool constant = std::all_of(loads.begin(), loads.end(),
                                [&](const LoadFact& l) { return plan.constants.count(l.tensor->name); });
    int64_t rows = 1;
    for (const te::Axis& a : r->axes)
      if (other.count(a.var->name) && !own.count(a.var->name)) rows *= extent_or(a, 64);
    const bool packed = rows >= rows_for_panel;  // by panels, if it is not constant
    for (const te::Axis& a : r->axes) {
      const std::string& name = a.var->name;
      if (!own.count(name) || other.count(name)) continue;
      // A dimension of its own in every load: not part of a window (that is a row of a depthwise convolution).
      bool plain = true;
      for (const LoadFact& l : loads)
        for (const auto& c : l.coefficients) plain &= !c || !c->count(name) || (c->size() == 1 && c->at(name) == 1);
      // Lanes that lie apart and are not packed would be gathered: the batch of a convolution to one output.
      const bool together = constant || packed || std::all_of(loads.begin(), loads.end(), [&](const LoadFact& l) {
                              return is_contiguous(plan, l, name);
                            });
      if (!plain || !together) continue;
      int64_t extent = extent_or(a, 256);
      // A constant factor is preferred: it can be packed ahead of time. Then the axis along which results are stored.
      const int64_t preference = constant ? 1000000 : in_e(name) == order.back() ? 2 : 1;
      int64_t weight = std::min<int64_t>(extent, lanes) * preference * 1000 + extent;
      if (weight > n_extent) n = name, n_extent = weight, swapped = swap;
    }
  };
  if (plan.planar) {
    for (size_t d = 0; d < r->axes.size(); ++d)
      if (e->axes[d].var->name == order.back()) n = r->axes[d].var->name;
    swapped = left.count(n) > 0;
  } else {
    consider(right, left, right_loads, false);
    consider(left, right, left_loads, true);
  }
  if (n.empty()) return false;
  if (swapped) std::swap(left, right), std::swap(left_loads, right_loads);
  const bool grouped = !facts.grouped.empty();
  n_extent = grouped ? facts.group : extent_or(*find_axis(*r, n), 256);
  // Mostly empty lanes: another rule does better, unless the factor is constant and stored along this axis anyway.
  const bool constant = std::all_of(right_loads.begin(), right_loads.end(),
                                    [&](const LoadFact& l) { return plan.constants.count(l.tensor->name); });
  // Of a group with many inputs each is read for a vector of outputs of its own here, and by the other rule put together with
  // those of other groups: then half a vector is better.
  const bool many_inputs = std::any_of(r->reduce_axes.begin(), r->reduce_axes.end(), [&](const te::Axis& a) {
    return extent_or(a, 64) > 1 && std::any_of(left_loads.begin(), left_loads.end(), [&](const LoadFact& l) {
             return std::any_of(l.coefficients.begin(), l.coefficients.end(),
                                [&](const auto& c) { return c && c->size() == 1 && c->count(a.var->name); });
           });
  });
  if (grouped ? n != facts.grouped || n_extent <= (many_inputs ? lanes / 4 : lanes / 2)
              : n_extent < (constant ? 2 : lanes / 4))
    return false;

  // Rows: data axes that the right factor does not have, contiguous ones last.
  std::vector<std::string> rows;
  for (const std::string& name : order)
    for (const te::Axis& a : r->axes)
      if (in_e(a.var->name) == name && a.var->name != n && left.count(a.var->name) && !right.count(a.var->name) &&
          extent_or(a, 64) > 1)
        rows.push_back(a.var->name);

  int max_nb = rows.empty() ? std::min(8, plan.target->vector_registers / 3) : 4;
  std::string x = rows.empty() ? "" : rows.back(), y = rows.size() < 2 ? "" : rows[rows.size() - 2];
  auto tile_rows = [&](const std::string& name) -> TileRows {
    if (name.empty()) return {};
    const te::Axis& axis = *find_axis(*r, name);
    return {extent_or(axis, 64), scalar::is_int(axis.extent)};
  };
  RegisterTile best = choose_tile(*plan.target, lanes, n_extent, max_nb, tile_rows(x), tile_rows(y));
  // Taps that lie in the padding are left out where that saves enough, and zero times a weight is zero.
  std::set<std::string> inside;
  if (facts.window && left_loads.size() == 1) {
    TileRows along_x = tile_rows(x), along_y = tile_rows(y);
    along_x.taps = taps_inside(*r, x, inside), along_y.taps = taps_inside(*r, y, inside);
    if (!inside.empty()) {
      const RegisterTile fewer = choose_tile(*plan.target, lanes, n_extent, max_nb, along_x, along_y);
      if (fewer.cost < 0.85 * best.cost && is_finite(plan, right_loads))
        best = fewer;
      else
        inside.clear();
    }
  }

  // Reduction loops: the axis along which the left factor is contiguous goes innermost.
  std::vector<std::string> reduce;
  for (const te::Axis& a : r->reduce_axes) reduce.push_back(a.var->name);
  auto contiguous_in_left = [&](const std::string& axis) {
    return std::any_of(left_loads.begin(), left_loads.end(),
                       [&](const LoadFact& l) { return is_contiguous(plan, l, axis); });
  };
  std::stable_sort(reduce.begin(), reduce.end(), [&](const std::string& a, const std::string& b) {
    return contiguous_in_left(a) < contiguous_in_left(b);
  });
  int64_t k_extent = 1;
  for (const std::string& k : reduce) k_extent *= extent_or(*find_axis(*r, k), 256);

  // Packing: [N / block][reduction in loop order][N % block], for constants of which N is one plain dimension.
  const int64_t block = static_cast<int64_t>(best.nb) * lanes, packed_block = grouped ? facts.group : block;
  for (const LoadFact& l : right_loads) {
    if (!plan.constants.count(l.tensor->name)) continue;
    int n_dim = -1;
    std::vector<std::pair<int, int>> others;  // (loop position, dimension)
    for (size_t d = 0; d < l.coefficients.size(); ++d) {
      const auto& c = l.coefficients[d];
      if (c && c->size() == 1 && c->count(n) && c->at(n) == 1) {
        n_dim = static_cast<int>(d);
        continue;
      }
      int depth = -1;
      if (c)
        for (const auto& [axis, unused] : *c)
          for (size_t i = 0; i < reduce.size(); ++i)
            if (reduce[i] == axis) depth = std::max(depth, static_cast<int>(i));
      others.push_back({depth, static_cast<int>(d)});
    }
    if (n_dim < 0) continue;
    std::stable_sort(others.begin(), others.end());
    Layout packed;
    packed.dims.push_back({n_dim, packed_block, false});
    for (const auto& [depth, d] : others) packed.dims.push_back({d});
    packed.dims.push_back({n_dim, packed_block, true});
    plan.layouts[l.tensor->name] = packed;
    plan.schedule.layouts[l.tensor->name] = packed;
  }

  // Loops of the epilogue: weights that fit L2 are swept for each tile of rows; larger ones are the outer loop, and so is a
  // panel that is packed there.
  const int64_t weight_bytes = k_extent * n_extent * r->dtype.bytes();
  int64_t row_count = 1;
  for (const std::string& name : rows) row_count *= extent_or(*find_axis(*r, name), 64);
  std::optional<PanelSource> source;
  if (!grouped && row_count >= rows_for_panel && k_extent * block * r->dtype.bytes() <= plan.target->l2_bytes / 2 &&
      std::all_of(r->reduce_axes.begin(), r->reduce_axes.end(),
                  [](const te::Axis& a) { return scalar::is_int(a.extent); }))
    source = panel_source(plan, r, n, right_loads);
  if (source && source->k_dim == source->n_dim && n_extent <= block) source.reset();  // is one already
  // Weights that L2 holds, but not beside data, are swept for each tile of rows too if the data of a window's neighbours would
  // come from further away for each block of N; and larger ones if that is less to read, where weights, which come in one
  // stream, count half.
  int64_t data_bytes = 0;
  if (facts.window)
    for (const LoadFact& l : left_loads) data_bytes += te::bytes(*l.tensor);
  const bool large_data = data_bytes > 2 * plan.target->l2_bytes;
  const int64_t most_weights = large_data ? plan.target->l2_bytes / 8 * 7 : plan.target->l2_bytes / 2;
  const int64_t sweeps = x.empty() ? row_count : row_count / extent_or(*find_axis(*r, x), 64);
  const bool swept =
      weight_bytes <= most_weights || (large_data && sweeps * weight_bytes / 2 < n_extent / block * data_bytes);
  const bool n_outside = source || (!grouped && !swept) || rows.empty();
  StageSchedule& se = plan.schedule.stages[e->name];
  se = {};
  se.place = Place::Root;
  Loop n_loop{in_e(n), block, n_outside ? LoopKind::Parallel : LoopKind::Serial};
  int64_t tasks = 1;
  auto add_loop = [&](Loop loop) {
    if (!se.loops.empty() && se.loops.back().kind == LoopKind::Serial) loop.kind = LoopKind::Serial;
    tasks *= (extent_or(*find_axis(*e, loop.axis), 64) + loop.step - 1) / loop.step;
    se.loops.push_back(loop);
  };
  auto is_row = [&](const std::string& name) {
    return std::any_of(rows.begin(), rows.end(), [&](const std::string& row) { return in_e(row) == name; });
  };
  int panel_level = 0;
  if (grouped) add_loop({in_e(n), facts.group, LoopKind::Parallel});
  if (source) {
    for (const std::string& name : order)
      if (name != in_e(n) && !is_row(name)) add_loop({name, 1, LoopKind::Parallel});
    if (n_extent > block) add_loop(n_loop);
    // Too few tasks: some rows each, and a panel of their own.
    const te::Axis& first = *find_axis(*r, rows[0]);
    const int64_t step = rows[0] == x ? best.tx : rows[0] == y ? best.ty : 1, inner = row_count / extent_or(first, 64);
    if (tasks < 8 && scalar::is_int(first.extent)) {
      int64_t chunk = std::max((first.extent->ivalue * tasks + 7) / 8, (rows_for_panel + inner - 1) / inner);
      chunk = (chunk + step - 1) / step * step;
      if (chunk < first.extent->ivalue) add_loop({in_e(rows[0]), chunk, LoopKind::Parallel});
    }
    panel_level = static_cast<int>(se.loops.size());
  } else if (n_outside) {
    add_loop(n_loop);
    tasks = 1;
  }
  for (const std::string& name : order) {
    if (name == in_e(n) || (source && !is_row(name))) continue;
    bool is_x = !x.empty() && name == in_e(x), is_y = !y.empty() && name == in_e(y);
    Loop loop{name, is_x ? best.tx : is_y ? best.ty : 1, LoopKind::Parallel};
    // The row tiles themselves are tasks only when the loops around give too few.
    if (source || (is_x && tasks >= 8)) loop.kind = LoopKind::Serial;
    add_loop(loop);
  }
  if (!n_outside && (!grouped || n_extent > block)) {
    if (tasks < 8) n_loop.kind = LoopKind::Parallel;
    add_loop(n_loop);
  }
  const int level = static_cast<int>(se.loops.size());
  auto finish = [&](std::vector<Loop>& loops, bool of_e) {
    if (!y.empty() && best.ty > 1) loops.push_back({of_e ? in_e(y) : y, 1, LoopKind::Unroll});
    if (!x.empty()) loops.push_back({of_e ? in_e(x) : x, 1, LoopKind::Unroll});
    add_vector(loops, of_e ? in_e(n) : n, lanes);
  };
  finish(se.loops, true);

  StageSchedule& sr = plan.schedule.stages[r->name];
  sr = {};
  sr.place = Place::At, sr.consumer = e->name, sr.level = level, sr.storage = Storage::Registers;
  int64_t unrolled = 1;
  std::vector<Loop> k_loops;
  for (size_t i = reduce.size(); i-- > 0;) {
    const te::Axis* axis = find_axis(*r, reduce[i]);
    bool unroll = scalar::is_int(axis->extent) && (unrolled *= axis->extent->ivalue) <= 4;
    const LoopKind kind = inside.count(reduce[i]) ? LoopKind::Inside : unroll ? LoopKind::Unroll : LoopKind::Serial;
    k_loops.insert(k_loops.begin(), Loop{reduce[i], 1, kind});
  }
  sr.loops = k_loops;
  for (const te::Axis& a :
       r->axes) {  // axes of one element left at this level need no loop of their own, but must be ended
    const std::string& name = a.var->name;
    if (name != n && name != x && !(name == y && best.ty > 1)) sr.loops.push_back({name, 1});
  }
  finish(sr.loops, false);
  const std::string e_name = e->name, r_name = r->name;
  if (source) add_panel(plan, r, *source, e_name, panel_level);
  const std::string copied = plan.planar ? "" : add_rows(plan, plan.stage(r_name), left_loads, x, best.tx * best.ty);
  const bool constant_rows = std::all_of(
      rows.begin(), rows.end(), [&](const std::string& name) { return scalar::is_int(find_axis(*r, name)->extent); });
  const bool blocks = !copied.empty() && !source && n_outside && constant_rows;
  split_long_sum(plan, plan.stage(r_name), blocks ? 256 : 128);
  const bool rows_copied = !copied.empty() && place_rows(plan, copied, r_name);
  // Data of which every element is read for one row only, and for few blocks of N: the next tile is fetched while this one is
  // used.
  constexpr int64_t blocks_for_fetching = 4;
  if (!rows_copied && !grouped && !plan.planar && !x.empty() && left_loads.size() == 1 &&
      (n_outside || n_extent <= blocks_for_fetching * block) && !overlaps(*r, left_loads[0]))
    fetch_data_ahead(plan, r_name, left_loads[0].tensor->name, x, best.tx);
  if (rows_copied && blocks) {
    block_rows(plan, r_name, n, rows, block);
  } else {
    loop_over_epilogue(plan, r_name, e_name);
    if (!plan.slides) fetch_early(plan, e_name);
  }
  // Weights that are not in L2 when they are needed: the next block is fetched while this one is used. With more rows than
  // these, waiting for a block once costs less than asking for it again with each tile.
  constexpr int64_t rows_for_fetching = 512;
  if (n_outside && !source && !rows.empty() && row_count <= rows_for_fetching && n_extent > block &&
      right_loads.size() == 1 && plan.constants.count(right_loads[0].tensor->name))
    fetch_weights_ahead(plan, r_name, right_loads[0].tensor->name, n, block);
  plan.note(format("{}: contraction, register tile {} x {} vectors of {} along {}{}{}{}{}", e_name, best.tx * best.ty,
                   best.nb, lanes, n,
                   plan.planar ? ", a row of an image stored by channels"
                   : grouped   ? format(", groups of {}", facts.group)
                               : "",
                   source      ? ", panels packed in front"
                   : n_outside ? ", weights outermost"
                               : "",
                   rows_copied ? blocks ? ", blocks of rows copied" : ", rows copied" : "",
                   inside.empty() ? "" : ", taps in the padding left out"));
  return true;
}

}  // namespace relay::lower
