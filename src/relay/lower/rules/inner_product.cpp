// Rows times rows: a contraction of two factors that are both contiguous along the reduction, one of which has few rows (a
// matrix times a vector, weights that are inputs, a convolution to a few channels).
//
//   for each 4 rows n of the one, each 4 rows m of the other
//     acc[m, n, lane] = sum(ko) a[m, ko * L + lane] * b[n, ko * L + lane]      16 accumulators in registers
//     out[m, n] = the sum of acc[m, n]'s lanes
//
// Both factors are read as they are stored; of a constant one the reduction is stored last. With many rows on both sides
// packing one factor is better, and so it is where that one is constant and its rows fill lanes: contraction_rule.
#include <algorithm>

#include "relay/lower/rules.h"

namespace relay::lower {

// Constants: the reduction's contiguous axis goes last.
static void pack_rows(GroupPlan& plan, const StageFacts& facts, const std::string& k) {
  for (const LoadFact& l : facts.loads) {
    if (!plan.constants.count(l.tensor->name)) continue;
    Layout layout;
    int last = -1;
    for (size_t d = 0; d < l.coefficients.size(); ++d) {
      const auto& c = l.coefficients[d];
      if (c && c->count(k))
        last = static_cast<int>(d);
      else
        layout.dims.push_back({static_cast<int>(d)});
    }
    if (last < 0) continue;
    layout.dims.push_back({last});
    plan.layouts[l.tensor->name] = layout;
    plan.schedule.layouts[l.tensor->name] = layout;
  }
}

bool inner_product_rule(GroupPlan& plan, const te::Tensor& r, const te::Tensor& e, const StageFacts& facts) {
  if (!facts.contraction || !facts.grouped.empty()) return false;
  const bool constant = std::any_of(facts.loads.begin(), facts.loads.end(),
                                    [&](const LoadFact& l) { return plan.constants.count(l.tensor->name); });
  if (facts.window && !constant) return false;
  StageFacts given = facts;  // what cannot be stored in another order
  std::erase_if(given.loads, [&](const LoadFact& l) { return plan.constants.count(l.tensor->name); });
  const int k = contiguous_axis(plan, given), lanes = plan.lanes(r->dtype);
  if (k < 0 || extent_or(r->reduce_axes[k], 1024) < (constant ? lanes / 2 + 1 : 2 * lanes)) return false;
  const std::string k_name = r->reduce_axes[k].var->name;
  if (!facts.is_batch(k_name)) return false;

  // The rows of each factor: axes that the other one does not have.
  struct Side {
    std::string axis;  // the longest, of those whose extents are known if there is one
    int64_t rows = 1, longest = 1;
    bool is_static = true, known = false;
  };
  Side left, right;
  for (const te::Axis& a : r->axes) {
    const std::string& name = a.var->name;
    if (facts.left.count(name) == facts.right.count(name)) continue;
    Side& side = facts.left.count(name) ? left : right;
    const int64_t extent = extent_or(a, 256);
    side.rows *= extent, side.is_static &= scalar::is_int(a.extent);
    const bool known = scalar::is_int(a.extent);
    if (extent > 1 && (side.axis.empty() || known > side.known || (known == side.known && extent > side.longest)))
      side.axis = name, side.longest = extent, side.known = known;
  }
  const Side &few = left.rows < right.rows ? left : right, &many = left.rows < right.rows ? right : left;
  constexpr int64_t rows_for_packing = 16;
  if (many.rows <= 1 || few.rows < 1 || few.rows >= rows_for_packing || !few.is_static) return false;

  // The other way a constant factor's rows would be the lanes, half a vector of them at least. Here each sum ends with that of
  // its lanes, worth about twelve steps.
  if (constant) {
    double length = 1, steps = 1, rows = 1;  // rows: of the reduction, each along k
    for (size_t i = 0; i < r->reduce_axes.size(); ++i) {
      const int64_t extent = extent_or(r->reduce_axes[i], 256);
      length *= static_cast<double>(extent);
      steps *= static_cast<double>(static_cast<int>(i) == k ? (extent + lanes - 1) / lanes : extent);
      if (static_cast<int>(i) != k) rows *= static_cast<double>(extent);
    }
    if (rows < 4 && extent_or(r->reduce_axes[k], 1024) < 2 * lanes) return false;
    const bool of_few = std::all_of(facts.loads.begin(), facts.loads.end(), [&](const LoadFact& l) {
      return plan.constants.count(l.tensor->name) > 0 ==
             (&few == &left ? !l.axes.count(right.axis) : !l.axes.count(left.axis));
    });
    const int64_t halves = (2 * few.rows + lanes - 1) / lanes;
    if (!of_few || 1.2 * static_cast<double>(few.rows) * (steps + 12) > length * 0.5 * static_cast<double>(halves))
      return false;
    pack_rows(plan, facts, k_name);
  }

  // Tile: rows of `many` times rows of `few`, of each a vector; the rest of the registers hold what is loaded.
  const bool wide = plan.target->vector_registers >= 32;
  const int64_t most = constant ? (wide ? 6 : 3)
                       : wide   ? 4
                                : 2,
                tiles = (few.longest + most - 1) / most, mr = few.axis.empty() ? 1 : (few.longest + tiles - 1) / tiles,
                nr = std::min<int64_t>(constant && wide && mr <= 3 ? 8 : 4, many.longest);
  const int64_t chains = mr == 1 && extent_or(r->reduce_axes[k], 1024) >= 4 * lanes ? 2 : 1;

  auto in_e = [&](const std::string& axis_of_r) {
    for (size_t d = 0; d < r->axes.size(); ++d)
      if (r->axes[d].var->name == axis_of_r) return e->axes[d].var->name;
    return std::string();
  };
  const std::string e_name = e->name, n = many.axis, m = few.axis, n_in_e = in_e(n), m_in_e = m.empty() ? "" : in_e(m);
  std::vector<Loop> loops, inner;
  int64_t work = 1;  // multiply-adds of one row of n
  for (const te::Axis& a : r->reduce_axes) work *= extent_or(a, 1024);
  for (const std::string& name : storage_order(*e, plan.layout(e)))
    if (name != n_in_e && name != m_in_e) loops.push_back({name, 1, LoopKind::Parallel});
  // Tasks of enough work; the rows of one are multiples of the tile.
  const te::Axis& n_axis = *find_axis(*r, n);
  int64_t task = nr;
  if (scalar::is_int(n_axis.extent))
    task = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, work * few.rows * nr)) * nr;
  if (task < many.longest) loops.push_back({n_in_e, task, LoopKind::Parallel});
  loops.push_back({n_in_e, nr});
  if (!m.empty()) loops.push_back({m_in_e, mr});
  const int level = static_cast<int>(loops.size());
  std::set<std::string> tile{n};
  if (!m.empty()) loops.push_back({m_in_e, 1, LoopKind::Unroll}), tile.insert(m);
  loops.push_back({n_in_e, 1, LoopKind::Unroll});

  // Polynomials take a vector of the sums, which lie on the stack until then.
  const bool expensive = is_expensive(expand(plan.stages(), plan.schedule).body(*e));
  LaneParts parts = split_lanes(plan, r, facts, chains);
  StageSchedule& se = plan.schedule.stages[e_name];
  se = {};
  se.place = Place::Root, se.loops = loops;
  if (expensive) {
    if (mr > nr) std::swap(se.loops.back().axis, se.loops[se.loops.size() - 2].axis);
    se.loops.back().kind = LoopKind::Vector;
    if (mr > 1) se.loops[se.loops.size() - 2].kind = LoopKind::Serial;
    const te::Tensor sum = parts.result, kept = copy_stage(sum, sum->name + "_kept");
    plan.outputs = redirect(plan.outputs, sum, kept);
    StageSchedule& s = plan.schedule.stages[kept->name];
    s = {};
    s.place = Place::At, s.consumer = e_name, s.level = level, s.storage = Storage::Stack;
    for (const te::Axis& a : kept->axes)  // named as those of the sum
      if (!tile.count(a.var->name)) s.loops.push_back({a.var->name, 1});
    const int inside = static_cast<int>(s.loops.size());
    for (const std::string& axis : tile) s.loops.push_back({axis, 1, LoopKind::Unroll});
    place_parts(plan, parts, kept->name, inside, tile);
  } else {
    place_parts(plan, parts, e_name, level, tile);
  }
  plan.note(format("{}: inner products, {} x {} sums of {} vectors of {}", e_name, nr, mr, chains, lanes));
  return true;
}

}  // namespace relay::lower
