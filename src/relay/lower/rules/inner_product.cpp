// Rows times rows: a contraction of two factors that are both contiguous along the reduction, one of which has few rows and
// neither of which is constant (a matrix times a vector, weights that are inputs).
//
//   for each 4 rows n of the one, each 4 rows m of the other
//     acc[m, n, lane] = sum(ko) a[m, ko * L + lane] * b[n, ko * L + lane]      16 accumulators in registers
//     out[m, n] = the sum of acc[m, n]'s lanes
//
// Both factors are read as they are stored. With many rows on both sides packing one factor is better: contraction_rule.
#include <algorithm>

#include "relay/lower/rules.h"

namespace relay::lower {

bool inner_product_rule(GroupPlan& plan, const te::Tensor& r, const te::Tensor& e, const StageFacts& facts) {
  if (!facts.contraction || facts.window) return false;
  const int k = contiguous_axis(plan, facts), lanes = plan.lanes(r->dtype);
  if (k < 0 || extent_or(r->reduce_axes[k], 1024) < 2 * lanes) return false;
  const std::string& k_name = r->reduce_axes[k].var->name;
  if (!facts.is_batch(k_name)) return false;
  for (const LoadFact& l : facts.loads)
    if (plan.constants.count(l.tensor->name)) return false;  // can be packed

  // The rows of each factor: axes that the other one does not have.
  struct Side {
    std::string axis;  // the longest
    int64_t rows = 1, longest = 1;
    bool is_static = true;
  };
  Side left, right;
  for (const te::Axis& a : r->axes) {
    const std::string& name = a.var->name;
    if (facts.left.count(name) == facts.right.count(name)) continue;
    Side& side = facts.left.count(name) ? left : right;
    const int64_t extent = extent_or(a, 256);
    side.rows *= extent, side.is_static &= scalar::is_int(a.extent);
    if (extent > side.longest) side.axis = name, side.longest = extent;
  }
  const Side &few = left.rows < right.rows ? left : right, &many = left.rows < right.rows ? right : left;
  constexpr int64_t rows_for_packing = 16;
  if (many.rows <= 1 || few.rows < 1 || few.rows >= rows_for_packing || !few.is_static) return false;

  // Tile: rows of `many` times rows of `few`, of each a vector; the rest of the registers hold what is loaded.
  const int64_t most = plan.target->vector_registers >= 32 ? 4 : 2;
  const int64_t nr = std::min<int64_t>(4, many.longest), tiles = (few.longest + most - 1) / most,
                mr = few.axis.empty() ? 1 : (few.longest + tiles - 1) / tiles;
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

  const LaneParts parts = split_lanes(plan, r, facts, chains);
  StageSchedule& se = plan.schedule.stages[e_name];
  se = {};
  se.place = Place::Root, se.loops = loops;
  place_parts(plan, parts, e_name, level, tile);
  plan.note(format("{}: inner products, {} x {} sums of {} vectors of {}", e_name, nr, mr, chains, lanes));
  return true;
}

}  // namespace relay::lower
