// Rows times rows: a contraction of two factors that are both contiguous along the reduction, one of which has few rows
// (a matrix times a vector, weights that are inputs, a convolution to a few channels).
//
//   for each 4 rows n of the one, each 4 rows m of the other
//     acc[m, n, lane] = sum(ko) a[m, ko * L + lane] * b[n, ko * L + lane]      16 accumulators in registers
//     out[m, n] = the sum of acc[m, n]'s lanes
//
// Both factors are read as they are stored; in a constant one the reduction is stored last. Packing one factor
// (contraction_rule) is better with many rows on both sides, or if one is constant and its rows fill lanes.
#include <algorithm>

#include "relay/lower/rules/rule_functions.h"

namespace relay::lower {

namespace {

// The rows of a factor: axes that the other one does not have.
struct Side {
  std::string axis;  // the longest, among those whose extents are known if there are any; "" if none
  int64_t rows = 1, longest = 1;
  bool is_static = true, known = false;  // all extents are known; that of `axis` is
};

struct Products {
  te::Tensor sum, result;  // the reduction and its epilogue; axes are the sum's
  const StageFacts& facts;
  int lanes = 1;
  bool constant = false;  // one factor is constant
  int k = 0;              // the reduced axis along which both are contiguous
  Side few{}, many{};
  int64_t mr = 1, nr = 1;  // rows of few and of many per tile
  int64_t chains = 1;      // vectors of partial results of a sum
};

// False if the factors are not both contiguous along the reduction, or have the wrong numbers of rows.
bool find_sides(const ScheduleDraft& draft, Products& p) {
  const StageFacts& facts = p.facts;
  if (!facts.contraction || !facts.grouped.empty()) return false;
  auto is_constant = [&](const LoadFact& l) { return draft.constants.count(l.tensor->name) > 0; };
  p.constant = std::any_of(facts.loads.begin(), facts.loads.end(), is_constant);
  if (facts.window && !p.constant) return false;
  StageFacts given = facts;  // factors that cannot be stored in another order
  std::erase_if(given.loads, is_constant);
  p.k = contiguous_axis(draft, given);
  if (p.k < 0 || extent_or(p.sum->reduce_axes[p.k], usual_row) < (p.constant ? p.lanes / 2 + 1 : 2 * p.lanes))
    return false;
  if (!facts.is_batch(p.sum->reduce_axes[p.k].var->name)) return false;

  Side left, right;
  for (const te::Axis& a : p.sum->axes) {
    const std::string& name = a.var->name;
    if (facts.left.count(name) == facts.right.count(name)) continue;
    Side& side = facts.left.count(name) ? left : right;
    const int64_t extent = extent_or(a, usual_features);
    const bool known = scalar::is_int(a.extent);
    side.rows *= extent, side.is_static &= known;
    if (extent > 1 && (side.axis.empty() || known > side.known || (known == side.known && extent > side.longest)))
      side.axis = name, side.longest = extent, side.known = known;
  }
  const bool few_left = left.rows < right.rows;
  p.few = few_left ? left : right, p.many = few_left ? right : left;
  return p.many.rows > 1 && p.few.rows >= 1 && p.few.rows < rows_for_packing && p.few.is_static;
}

// The nanoseconds of the sums in lanes along the reduction, and of the alternative: a constant factor's rows as lanes.
struct Estimates {
  double along_sum = 0, along_rows = 0;
};

// Rows as lanes fill at least half a vector of them. Here each sum ends with that of its lanes, worth about twelve
// steps. Unset if rows as lanes are surely better.
std::optional<Estimates> estimates_of(const ScheduleDraft& draft, const Products& p) {
  double length = 1, steps = 1, rows = 1;  // rows: of the reduction, each along k
  for (size_t i = 0; i < p.sum->reduce_axes.size(); ++i) {
    const int64_t extent = extent_or(p.sum->reduce_axes[i], usual_features);
    const bool along = static_cast<int>(i) == p.k;
    length *= static_cast<double>(extent);
    steps *= static_cast<double>(along ? (extent + p.lanes - 1) / p.lanes : extent);
    if (!along) rows *= static_cast<double>(extent);
  }
  if (rows < 4 && extent_or(p.sum->reduce_axes[p.k], usual_row) < 2 * p.lanes) return std::nullopt;
  const bool of_few = std::all_of(p.facts.loads.begin(), p.facts.loads.end(), [&](const LoadFact& l) {
    return (draft.constants.count(l.tensor->name) > 0) != (l.axes.count(p.many.axis) > 0);
  });
  const int64_t halves = (2 * p.few.rows + p.lanes - 1) / p.lanes;
  constexpr double steps_of_end = 12;  // the sum of a vector's lanes
  if (!of_few) return std::nullopt;
  // Vector multiply-adds of all rows of `many`, in either form.
  const double ns = static_cast<double>(p.many.rows) / (draft.target->fma_per_cycle * draft.target->ghz);
  return Estimates{surely_more * static_cast<double>(p.few.rows) * (steps + steps_of_end) * ns,
                   length * 0.5 * static_cast<double>(halves) * ns};
}

// The rows of both factors, and vectors of partial results, that are summed together.
struct Tile {
  int64_t mr = 1, nr = 1, chains = 1;
  bool operator==(const Tile&) const = default;
};

// The preferred tile first: a vector of each row; the registers that do not hold sums hold loaded data. Then other
// numbers of rows whose sums fill at most half of the registers.
std::vector<Tile> tiles_of(const TargetDesc& target, const Products& p) {
  constexpr int many_registers = 32;  // as in AVX-512 and AArch64
  const bool wide = target.vector_registers >= many_registers;
  // Sums of a tile take half of the registers if constants are read along them, else a quarter.
  constexpr int64_t wide_rows = 6, wide_sums = 8;
  const int64_t most = p.constant ? (wide ? wide_rows : wide_rows / 2)
                       : wide     ? 4
                                  : 2,
                tiles = (p.few.longest + most - 1) / most;
  Tile usual;
  usual.mr = p.few.axis.empty() ? 1 : (p.few.longest + tiles - 1) / tiles;
  usual.nr = std::min<int64_t>(p.constant && wide && usual.mr <= 3 ? wide_sums : 4, p.many.longest);
  usual.chains = usual.mr == 1 && extent_or(p.sum->reduce_axes[p.k], usual_row) >= 4 * p.lanes ? 2 : 1;
  std::vector<Tile> out{usual};
  for (const int64_t mr : {usual.mr, int64_t{1}, p.few.longest})
    for (int64_t nr = 1; nr <= p.many.longest && 2 * nr <= target.vector_registers; nr *= 2)
      for (const int64_t chains : {1, 2}) {
        const Tile tile{mr, nr, chains};
        if (p.few.axis.empty() && mr > 1) continue;
        if (2 * mr * nr * chains <= target.vector_registers && std::find(out.begin(), out.end(), tile) == out.end())
          out.push_back(tile);
      }
  return out;
}

// Loops of the result around a tile: tasks with enough work, whose rows are multiples of the tile's.
std::vector<Loop> loops_around(ScheduleDraft& draft, const Products& p, const std::string& n, const std::string& m) {
  std::vector<Loop> loops;
  for (const std::string& name : storage_order(*p.result, draft.layout(p.result)))
    if (name != n && name != m) loops.push_back({name, 1, LoopKind::Parallel});
  int64_t work = 1;  // multiply-adds of one row of n
  for (const te::Axis& a : p.sum->reduce_axes) work *= extent_or(a, usual_row);
  int64_t task = p.nr;
  if (p.many.known)
    task = std::max<int64_t>(1, task_multiply_adds / std::max<int64_t>(1, work * p.few.rows * p.nr)) * p.nr;
  if (task < p.many.longest) loops.push_back({n, task, LoopKind::Parallel});
  loops.push_back({n, p.nr});
  if (!m.empty()) loops.push_back({m, p.mr});
  return loops;
}

// Polynomials take a vector of the sums, which are on the stack until then.
void loop_over_epilogue(StageSchedule& s, const Products& p) {
  Loop &last = s.loops.back(), &before = s.loops[s.loops.size() - 2];
  if (p.mr > p.nr) std::swap(last.axis, before.axis);
  last.kind = LoopKind::Vector;
  if (p.mr > 1) before.kind = LoopKind::Serial;
}

}  // namespace

static void schedule_products(ScheduleDraft& draft, const Products& p) {
  const te::Tensor &r = p.sum, &e = p.result;
  const StageFacts& facts = p.facts;
  if (p.constant) store_constants_along(draft, facts, r->reduce_axes[p.k].var->name);
  const std::string e_name = e->name, n = same_axis(*r, p.many.axis, *e), m = same_axis(*r, p.few.axis, *e);
  const bool expensive = is_expensive(draft.expanded(e).body(*e));
  StageSchedule se;
  se.place = Place::Root, se.loops = loops_around(draft, p, n, m);
  const int level = static_cast<int>(se.loops.size());
  std::set<std::string> tile{p.many.axis};
  if (!m.empty()) se.loops.push_back({m, 1, LoopKind::Unroll}), tile.insert(p.few.axis);
  se.loops.push_back({n, 1, LoopKind::Unroll});
  if (expensive) loop_over_epilogue(se, p);
  draft.schedule.stages[e_name] = se;

  const LaneParts parts = split_lanes(draft, r, facts, p.chains);
  if (expensive) {
    const te::Tensor sum = parts.result, stored = copy_stage(sum, sum->name + "_stored");
    draft.redirect(sum, stored);
    StageSchedule& s = draft.schedule.stages[stored->name];
    s = {};
    s.place = Place::At, s.consumer = e_name, s.level = level, s.storage = Storage::Stack;
    for (const te::Axis& a : stored->axes)  // named as those of the sum
      if (!tile.count(a.var->name)) s.loops.push_back({a.var->name, 1});
    const int inside = static_cast<int>(s.loops.size());
    for (const std::string& axis : tile) s.loops.push_back({axis, 1, LoopKind::Unroll});
    place_parts(draft, parts, stored->name, inside, tile);
  } else {
    place_parts(draft, parts, e_name, level, tile);
  }
  draft.note(format("{}: inner products, {} x {} sums of {} vectors of {}", e_name, p.nr, p.mr, p.chains, p.lanes));
}

RuleCandidates inner_product_rule(const ScheduleDraft& draft, const te::Tensor& r, const te::Tensor& e,
                                  const StageFacts& facts) {
  Products p{r, e, facts, draft.lanes(r->dtype)};
  if (draft.form.by_channels || !find_sides(draft, p)) return {};
  std::optional<Estimates> ns;
  if (p.constant && !(ns = estimates_of(draft, p))) return {};
  RuleCandidates out;
  for (const Tile& t : tiles_of(*draft.target, p)) {
    p.mr = t.mr, p.nr = t.nr, p.chains = t.chains;
    RuleCandidate& tile = out.emplace_back();
    if (ns) tile.options.push_back({"lanes", "along_sum"}), tile.ns = ns->along_sum;
    tile.options.push_back({"products", format("{}x{}x{}", t.nr, t.mr, t.chains)});
    tile.patch = [p](ScheduleDraft& of) { schedule_products(of, p); };
  }
  if (ns) out.push_back({{{"lanes", "along_rows"}}, ns->along_rows});  // by the next rules
  return out;
}

}  // namespace relay::lower
