// Contractions: dense, batched matmul, convolution of any rank. An axis N that occurs only in the right factor (usually
// the weight) provides the lanes of the vectors. A register tile holds MR rows of the left factor times NB vectors of
// N; the reduction runs over it with one load of NB weight vectors and MR broadcasts per step, so MR * NB + NB + 1
// registers are live. The right factor is packed so that a tile reads it in one contiguous stream: when the program is
// built if it is constant, else panel by panel while the kernel runs (panel.cpp), if there are enough rows to pay for
// that.
//
// For images stored by channels (GroupForm::by_channels) the right factor is the data: lanes run along their rows.
//
// A grouped convolution is a contraction for each group, if a group has enough outputs to fill vectors; window_rule
// handles the others.
#include <algorithm>
#include <cmath>
#include <memory>

#include "relay/lower/group/finite.h"
#include "relay/lower/rules/narrow/block_scales.h"
#include "relay/lower/rules/rule_functions.h"
#include "relay/scalar/short_dot.h"

namespace relay::lower {

namespace {

struct Factor {
  std::set<std::string> axes;
  std::vector<LoadFact> loads;

  bool has(const std::string& axis) const { return axes.count(axis) > 0; }
};

// A sum of products on its way to loops, with the decisions of the steps below. Axes without a remark are the sum's.
struct Contraction {
  te::Tensor sum, result;          // the reduction and its epilogue
  const StageFacts& facts;         // of the sum
  std::vector<std::string> order;  // axes of the result as it is stored, outermost first
  Factor left, right;              // the right one is usually the weight
  int lanes = 1;

  std::string n{};                  // the lanes: an axis that only the right factor has
  int64_t n_extent = 0;             // of a group, if there are groups
  std::vector<std::string> rows{};  // axes that only the left factor has, as they are stored, contiguous ones last
  std::string x{}, y{};             // the last two of them, or ""
  int64_t row_count = 1;
  std::vector<std::string> reduce{};  // outermost first
  int64_t k_extent = 1;

  RegisterTile tile{};
  std::set<std::string> skips_padding{};  // reduced axes whose taps in the padding are left out
  std::optional<PanelSource> panel{};     // the right factor is packed panel by panel from this
  bool n_outermost = false;               // the loop over N is outside of those over rows

  bool grouped() const { return !facts.grouped.empty(); }
  int64_t block() const { return static_cast<int64_t>(tile.nb) * lanes; }  // of N, in a tile
  const te::Axis& axis(const std::string& name) const { return *find_axis(*sum, name); }
  std::string in_result(const std::string& name) const { return same_axis(*sum, name, *result); }
  // Rows in a tile along an axis.
  int64_t tile_along(const std::string& name) const { return name == x ? tile.tx : name == y ? tile.ty : 1; }
};

bool is_constant(const ScheduleDraft& draft, const Factor& factor) {
  return std::all_of(factor.loads.begin(), factor.loads.end(),
                     [&](const LoadFact& l) { return draft.constants.count(l.tensor->name) > 0; });
}

// True if neighbours along an axis are adjacent in memory.
bool is_contiguous(const ScheduleDraft& draft, const LoadFact& load, const std::string& axis) {
  const Layout& layout = draft.layout(load.tensor);
  if (layout.dims.empty()) return false;
  const auto& last = load.coefficients[static_cast<size_t>(layout.dims.back().dim)];
  return last && last->count(axis);
}

// A depthwise or grouped convolution: both factors have the axis along which results are stored, and one has no other
// axis of the result. Vectors along that axis are another rule's work; the batch, which only the data has, would
// scatter them.
bool is_stored_along_both(const Contraction& c) {
  auto owns = [&](const Factor& own, const Factor& other) {
    return std::any_of(c.sum->axes.begin(), c.sum->axes.end(),
                       [&](const te::Axis& a) { return own.has(a.var->name) && !other.has(a.var->name); });
  };
  return !(owns(c.left, c.right) && owns(c.right, c.left)) &&
         c.facts.is_batch(same_axis(*c.result, c.order.back(), *c.sum));
}

// Chooses N: the largest data axis that only one factor has, which becomes the right one. False if there is none.
bool choose_lanes(const ScheduleDraft& draft, Contraction& c) {
  constexpr int64_t above_all = 1000000, next_to_it = 1000;  // ranks: full lanes first, then the longest axis
  bool of_left = false;
  int64_t most = 0;
  auto consider = [&](const Factor& own, const Factor& other) {
    const bool constant = is_constant(draft, own);
    int64_t rows = 1;
    for (const te::Axis& a : c.sum->axes)
      if (other.has(a.var->name) && !own.has(a.var->name)) rows *= extent_or(a, usual_rows);
    const bool packed = rows >= rows_for_packing;  // by panels, if it is not constant
    for (const te::Axis& a : c.sum->axes) {
      const std::string& name = a.var->name;
      if (!own.has(name) || other.has(name)) continue;
      // A separate dimension in every load: not part of a window (that is a row of a depthwise convolution).
      const bool plain = std::all_of(own.loads.begin(), own.loads.end(), [&](const LoadFact& l) {
        return std::all_of(l.coefficients.begin(), l.coefficients.end(), [&](const auto& of) {
          return !of || !of->count(name) || (of->size() == 1 && of->at(name) == 1);
        });
      });
      // Lanes that are apart and not packed would be gathered: the batch of a convolution to one output.
      const bool together = constant || packed ||
                            std::all_of(own.loads.begin(), own.loads.end(),
                                        [&](const LoadFact& l) { return is_contiguous(draft, l, name); });
      if (!plain || !together) continue;
      // A constant factor is preferred, since it can be packed ahead of time; then the axis along which results are
      // stored.
      const int64_t extent = extent_or(a, usual_features),
                    preference = constant                              ? above_all
                                 : c.in_result(name) == c.order.back() ? 2
                                                                       : 1,
                    worth = std::min<int64_t>(extent, c.lanes) * preference * next_to_it + extent;
      if (worth > most) c.n = name, most = worth, of_left = &own == &c.left;
    }
  };
  if (draft.form.by_channels) {
    c.n = same_axis(*c.result, c.order.back(), *c.sum);
    of_left = c.left.has(c.n);
  } else {
    consider(c.right, c.left);
    consider(c.left, c.right);
  }
  if (c.n.empty()) return false;
  if (of_left) std::swap(c.left, c.right);
  c.n_extent = c.grouped() ? c.facts.group : extent_or(c.axis(c.n), usual_features);
  return true;
}

// False if lanes would be mostly empty: another rule does better, unless the right factor is constant and stored along
// N anyway. In a group with many inputs, each input is read for a vector of the group's outputs here, while the other
// rule combines outputs of several groups: then half a vector is better.
bool fills_lanes(const ScheduleDraft& draft, const Contraction& c) {
  if (!c.grouped()) return c.n_extent >= (is_constant(draft, c.right) ? 2 : c.lanes / 4);
  const bool many_inputs = std::any_of(c.sum->reduce_axes.begin(), c.sum->reduce_axes.end(), [&](const te::Axis& a) {
    return extent_or(a, usual_rows) > 1 &&
           std::any_of(c.left.loads.begin(), c.left.loads.end(), [&](const LoadFact& l) {
             return std::any_of(l.coefficients.begin(), l.coefficients.end(),
                                [&](const auto& of) { return of && of->size() == 1 && of->count(a.var->name); });
           });
  });
  return c.n == c.facts.grouped && c.n_extent > (many_inputs ? c.lanes / 4 : c.lanes / 2);
}

void find_rows(Contraction& c) {
  for (const std::string& name : c.order)
    for (const te::Axis& a : c.sum->axes)
      if (c.in_result(a.var->name) == name && a.var->name != c.n && c.left.has(a.var->name) &&
          !c.right.has(a.var->name) && extent_or(a, usual_rows) > 1)
        c.rows.push_back(a.var->name), c.row_count *= extent_or(a, usual_rows);
  if (!c.rows.empty()) c.x = c.rows.back();
  if (c.rows.size() >= 2) c.y = c.rows[c.rows.size() - 2];
}

// Loops over the sum: axes along which the left factor is contiguous go innermost.
void order_reduction(const ScheduleDraft& draft, Contraction& c) {
  std::vector<std::string> innermost;
  for (const te::Axis& a : c.sum->reduce_axes) {
    const std::string& name = a.var->name;
    const bool contiguous = std::any_of(c.left.loads.begin(), c.left.loads.end(),
                                        [&](const LoadFact& l) { return is_contiguous(draft, l, name); });
    (contiguous ? innermost : c.reduce).push_back(name);
    c.k_extent *= extent_or(a, usual_features);
  }
  c.reduce.insert(c.reduce.end(), innermost.begin(), innermost.end());
}

// True for constants without infinities and NaN.
bool is_finite(const ScheduleDraft& draft, const std::vector<LoadFact>& loads) {
  return std::all_of(loads.begin(), loads.end(), [&](const LoadFact& l) {
    if (!l.tensor->dtype.is_float()) return true;
    const auto it = draft.values.find(l.tensor->name);
    return it != draft.values.end() && all_finite(it->second);
  });
}

// The nanoseconds of all multiply-adds of the sum, in tiles, for each unit of a tile's cost.
double ns_per_cost(const TargetDesc& target, const Contraction& c) {
  auto extent = [&](const std::string& axis) {
    return axis.empty() ? 1.0 : static_cast<double>(extent_or(c.axis(axis), usual_rows));
  };
  double results = 1;
  for (const te::Axis& a : c.sum->axes) results *= static_cast<double>(extent_or(a, usual_rows));
  const double in_tiles = std::max(1.0, static_cast<double>(c.n_extent) * extent(c.x) * extent(c.y)),
               steps = static_cast<double>(c.k_extent) * results / in_tiles;
  return steps / (target.fma_per_cycle * target.ghz);
}

// The machine as tiles see it: without registers for products if those are added by instructions of their own.
TargetDesc target_of_tiles(const ScheduleDraft& draft, const te::Tensor& sum) {
  TargetDesc target = *draft.target;
  const Expr body = draft.expanded(sum).body(*sum);
  if (body->kind != scalar::Kind::Dot) return target;
  const size_t products = body->args.size() / 2;
  const machine::Instruction* found =
      machine::find_instruction(target, body->args[0]->dtype, body->args[products]->dtype, sum->dtype,
                                static_cast<int>(products), target.vector_bytes);
  // Processors without vectors hold integers in general registers: of 13, these are left beside addresses, a counter
  // and bytes that are being widened. With 9, GCC spills.
  constexpr int general_registers = 8;
  if (found && !found->adds) --target.vector_registers;
  constexpr int for_short_sums = 8;  // products of two halves, of four rows at once
  constexpr int for_pairs = 1;       // products of bytes without signs; ones may come from memory
  if (scalar::is_short_dot(body) && found && found->short_sums)
    target.vector_registers -= found->left == DType::uint8() ? for_pairs : for_short_sums;
  if (found && found->most_bytes == sum->dtype.bytes()) target.vector_registers = general_registers;
  return target;
}

// The register tiles to choose from. Taps in the padding are left out if that saves enough, and if zero times a weight
// is zero.
std::vector<RegisterTile> register_tiles(const ScheduleDraft& draft, Contraction& c) {
  // For one row: as many chains of sums as hide the latency of two multiply-adds per cycle.
  constexpr int max_chains = 8;
  const int max_vectors = c.rows.empty() ? std::min(max_chains, draft.target->vector_registers / 3) : 4;
  auto rows_along = [&](const std::string& name) -> TileRows {
    if (name.empty()) return {};
    return {extent_or(c.axis(name), usual_rows), scalar::is_int(c.axis(name).extent)};
  };
  const TileRows along_x = rows_along(c.x), along_y = rows_along(c.y);
  const TargetDesc target = target_of_tiles(draft, c.sum);
  constexpr size_t most = 12;  // tiles whose estimates are further from the best one are not worth a measurement
  auto tiles = [&](const TileRows& x, const TileRows& y) {
    return tile_options(target, c.lanes, c.n_extent, max_vectors, x, y, most);
  };
  const std::vector<RegisterTile> whole = tiles(along_x, along_y);
  if (!c.facts.window || c.left.loads.size() != 1) return whole;
  TileRows in_x = along_x, in_y = along_y;
  in_x.taps = taps_inside(*c.sum, c.x, c.skips_padding), in_y.taps = taps_inside(*c.sum, c.y, c.skips_padding);
  if (!c.skips_padding.empty()) {
    const std::vector<RegisterTile> fewer = tiles(in_x, in_y);
    if (fewer[0].cost < surely_less * whole[0].cost && is_finite(draft, c.right.loads)) return fewer;
  }
  c.skips_padding.clear();
  return whole;
}

// Packs the right factor: [N / block][reduction in loop order][N % block], followed by the numbers that a dot product
// multiplies at once, for constants of which N is one plain dimension.
void pack_constants(ScheduleDraft& draft, const Contraction& c) {
  const int64_t block = c.grouped() ? c.facts.group : c.block();
  for (const LoadFact& l : c.right.loads) {
    if (!draft.constants.count(l.tensor->name)) continue;
    int n_dim = -1, product_dim = -1;         // numbers_dim: of the numbers of a dot product, which are adjacent
    std::vector<std::pair<int, int>> others;  // (loop position, dimension)
    for (size_t d = 0; d < l.coefficients.size(); ++d) {
      const auto& of = l.coefficients[d];
      if (of && of->size() == 1 && of->count(c.n) && of->at(c.n) == 1) {
        n_dim = static_cast<int>(d);
        continue;
      }
      int depth = -1;
      // A single step reads all numbers of its dimension.
      const bool is_one_step = c.facts.products_per_step > 1 && of && of->empty() && product_dim < 0 &&
                               scalar::is_int(l.tensor->shape[d], c.facts.products_per_step);
      if (is_one_step) product_dim = static_cast<int>(d);
      if (of)
        for (size_t i = 0; i < c.reduce.size(); ++i)
          if (of->count(c.reduce[i])) {
            depth = static_cast<int>(i);
            if (c.facts.products_per_step > 1 && of->at(c.reduce[i]) == c.facts.products_per_step)
              product_dim = static_cast<int>(d);
          }
      others.push_back({depth, static_cast<int>(d)});
    }
    if (n_dim < 0) continue;
    std::sort(others.begin(), others.end());
    Layout packed;
    packed.dims.push_back({n_dim, block, false});
    for (const auto& [depth, d] : others)
      packed.dims.push_back({d, d == product_dim ? c.facts.products_per_step : 0, false});
    packed.dims.push_back({n_dim, block, true});
    if (product_dim >= 0) packed.dims.push_back({product_dim, c.facts.products_per_step, true});
    draft.layouts[l.tensor->name] = packed;
    draft.schedule.layouts[l.tensor->name] = packed;
  }
}

// True if all weights are read for each tile of rows: those that L2 holds next to the data. Also those that it holds,
// but not next to data, if the data of a window's neighbours would come from further away for each block of N; and
// larger ones if that reads less, where weights, which come in one stream, count half.
bool weights_fit_cache(const ScheduleDraft& draft, const Contraction& c) {
  const int64_t weight_bytes = c.k_extent * c.n_extent * c.sum->dtype.bytes(), l2 = part_of_l2(*draft.target, 1);
  int64_t data_bytes = 0;
  if (c.facts.window)
    for (const LoadFact& l : c.left.loads) data_bytes += te::bytes(*l.tensor);
  const bool large_data = data_bytes > 2 * l2;
  constexpr int64_t parts = 8;  // of L2: next to weights that are read for each tile, a tile's data takes one
  if (weight_bytes <= (large_data ? l2 / parts * (parts - 1) : l2 / 2)) return true;
  const int64_t sweeps = c.x.empty() ? c.row_count : c.row_count / extent_or(c.axis(c.x), usual_rows);
  return large_data && sweeps * weight_bytes / 2 < c.n_extent / c.block() * data_bytes;
}

// True for a result beyond L2 of such short sums that it takes longer to write than to compute: an outer product. It is
// written row by row, which a panel for all rows would prevent (1246 x 5 x 1661: 2.2 ms by panels, 0.56 ms by rows).
bool is_written_by_rows(const ScheduleDraft& draft, const Contraction& c) {
  const double sums = static_cast<double>(c.row_count * c.n_extent),
               bytes = sums * static_cast<double>(c.sum->dtype.bytes());
  return c.in_result(c.n) == c.order.back() && !stays_in_l2(*draft.target, bytes) && weights_fit_cache(draft, c) &&
         multiply_adds_ns(*draft.target, sums * static_cast<double>(c.k_extent)) < beyond_l2_ns(*draft.target, bytes) &&
         std::all_of(
             c.right.loads.begin(), c.right.loads.end(),
             [&](const LoadFact& l) { return is_contiguous(draft, l, c.n); });
}

// True if packing a non-constant factor panel by panel pays. A factor that is contiguous along the lanes needs more
// rows, and a panel that leaves room in L2. Any other would be gathered, so that even a panel that is read from L3 for
// each tile of rows pays.
bool pays_to_pack(const ScheduleDraft& draft, const Contraction& c) {
  const TargetDesc& target = *draft.target;
  const double bytes = static_cast<double>(c.k_extent * c.sum->dtype.bytes()),
               of_panel = bytes * static_cast<double>(c.block());
  const bool lies_along_lanes = std::all_of(c.right.loads.begin(), c.right.loads.end(),
                                            [&](const LoadFact& l) { return is_contiguous(draft, l, c.n); });
  if (is_written_by_rows(draft, c) ||
      !(lies_along_lanes ? stays_in_l2(target, of_panel) : stays_in_l3(target, of_panel)))
    return false;
  const bool in_l2 = stays_in_l2(target, bytes * static_cast<double>(c.n_extent));
  return !lies_along_lanes || c.row_count >= (in_l2 ? rows_for_copying_in_l2 : rows_for_copying);
}

// The factor that can be packed panel by panel, if there are enough rows to pay for that.
std::optional<PanelSource> source_of_panels(const ScheduleDraft& draft, const Contraction& c) {
  if (c.grouped() || c.row_count < rows_for_packing) return std::nullopt;
  for (const te::Axis& k : c.sum->reduce_axes)
    if (!scalar::is_int(k.extent)) return std::nullopt;
  return panel_source(draft, c.sum, c.n, c.right.loads);
}

// The ways to read the right factor: "packed" in panels, or "in_place".
std::vector<std::string> ways_to_read(const ScheduleDraft& draft, const Contraction& c,
                                      const std::optional<PanelSource>& source) {
  const bool is_panel = source && source->k_dim == source->n_dim && c.n_extent <= c.block();  // as it is
  if (!source || is_panel) return {"in_place"};
  return pays_to_pack(draft, c) ? std::vector<std::string>{"packed", "in_place"}
                                : std::vector<std::string>{"in_place", "packed"};
}

// The loops around the tiles: over "rows", or over blocks of N, which read "weights".
std::vector<std::string> outermost_loops(const ScheduleDraft& draft, const Contraction& c) {
  if (c.panel || c.rows.empty()) return {"weights"};
  if (c.grouped()) return {"rows"};
  const bool fit = weights_fit_cache(draft, c);
  if (c.n_extent <= c.block()) return {fit ? "rows" : "weights"};
  return fit ? std::vector<std::string>{"rows", "weights"} : std::vector<std::string>{"weights", "rows"};
}

// Adds the loops of a tile: over its rows and a block of N.
void add_tile(std::vector<Loop>& loops, const Contraction& c, bool of_result) {
  auto name = [&](const std::string& axis) { return of_result ? c.in_result(axis) : axis; };
  if (!c.y.empty() && c.tile.ty > 1) loops.push_back({name(c.y), 1, LoopKind::Unroll});
  if (!c.x.empty()) loops.push_back({name(c.x), 1, LoopKind::Unroll});
  add_vector(loops, name(c.n), c.lanes);
}

// Numbers of loops of the result.
struct Levels {
  int tile = 0;
  int panel = 0;  // loops around the packed factor
};

Levels schedule_result(ScheduleDraft& draft, const Contraction& c) {
  StageSchedule& s = draft.schedule.stages[c.result->name];
  s = {};
  s.place = Place::Root;
  Levels levels;
  int64_t tasks = 1;
  auto add_loop = [&](Loop loop) {
    if (!s.loops.empty() && s.loops.back().kind == LoopKind::Serial) loop.kind = LoopKind::Serial;
    tasks *= (extent_or(*find_axis(*c.result, loop.axis), usual_rows) + loop.step - 1) / loop.step;
    s.loops.push_back(loop);
  };
  const std::string n = c.in_result(c.n);
  auto is_row = [&](const std::string& axis) {
    return std::any_of(c.rows.begin(), c.rows.end(), [&](const std::string& row) { return c.in_result(row) == axis; });
  };
  if (c.grouped()) add_loop({n, c.facts.group, LoopKind::Parallel});
  if (c.panel) {
    for (const std::string& name : c.order)
      if (name != n && !is_row(name)) add_loop({name, 1, LoopKind::Parallel});
    if (c.n_extent > c.block()) add_loop({n, c.block(), LoopKind::Parallel});
    // Too few tasks: a few rows each, with their own panel.
    const te::Axis& first = c.axis(c.rows[0]);
    const int64_t step = c.tile_along(c.rows[0]), inner = c.row_count / extent_or(first, usual_rows);
    if (tasks < enough_tasks && scalar::is_int(first.extent)) {
      int64_t chunk = std::max((first.extent->ivalue * tasks + enough_tasks - 1) / enough_tasks,
                               (rows_for_packing + inner - 1) / inner);
      chunk = (chunk + step - 1) / step * step;
      if (chunk < first.extent->ivalue) add_loop({c.in_result(c.rows[0]), chunk, LoopKind::Parallel});
    }
    levels.panel = static_cast<int>(s.loops.size());
  } else if (c.n_outermost) {
    add_loop({n, c.block(), LoopKind::Parallel});
    tasks = 1;
  }
  for (const std::string& name : c.order) {
    if (name == n || (c.panel && !is_row(name))) continue;
    const std::string in_sum = same_axis(*c.result, name, *c.sum);
    // The row tiles become tasks only if the loops around give too few.
    const bool serial = c.panel || (in_sum == c.x && tasks >= enough_tasks);
    add_loop({name, c.tile_along(in_sum), serial ? LoopKind::Serial : LoopKind::Parallel});
  }
  if (!c.n_outermost && (!c.grouped() || c.n_extent > c.block()))
    add_loop({n, c.block(), tasks < enough_tasks ? LoopKind::Parallel : LoopKind::Serial});
  levels.tile = static_cast<int>(s.loops.size());
  add_tile(s.loops, c, true);
  return levels;
}

void schedule_sum(ScheduleDraft& draft, const Contraction& c, int level) {
  StageSchedule& s = draft.schedule.stages[c.sum->name];
  s = {};
  s.place = Place::At, s.consumer = c.result->name, s.level = level, s.storage = Storage::Registers;
  constexpr int64_t most_in_element = 4;  // of weights of 2 bits; more neighbours share only a scale
  int64_t unrolled = 1;
  // With one row, all numbers of an element of the weights are used before the next vector of elements is read: those
  // of a whole tile would not stay in 16 registers (AVX2).
  std::vector<Loop> neighbours;
  for (size_t i = c.reduce.size(); i-- > 0;) {
    const std::string& k = c.reduce[i];
    const Expr& extent = c.axis(k).extent;
    const bool unroll = scalar::is_int(extent) && (unrolled *= extent->ivalue) <= 4;
    const LoopKind kind = c.skips_padding.count(k)   ? LoopKind::SkipPadding
                          : unroll                   ? LoopKind::Unroll
                          : k == c.facts.peeled_axis ? LoopKind::Peeled
                                                     : LoopKind::Serial;
    const int64_t together = neighbours_in_element(c.right.loads, c.axis(k));
    if (kind == LoopKind::Serial && together > 1 && together <= most_in_element) {
      const Loop each{k, 1, LoopKind::Unroll};
      if (c.x.empty())
        neighbours.push_back(each);
      else
        s.loops.insert(s.loops.begin(), each);
      s.loops.insert(s.loops.begin(), Loop{k, together, kind});
      continue;
    }
    s.loops.insert(s.loops.begin(), Loop{k, 1, kind});
  }
  // Axes of one element at this level need no loop, but must be finished.
  for (const te::Axis& a : c.sum->axes) {
    const std::string& name = a.var->name;
    if (name != c.n && name != c.x && !(name == c.y && c.tile.ty > 1)) s.loops.push_back({name, 1});
  }
  add_tile(s.loops, c, false);
  s.loops.insert(s.loops.end() - 1, neighbours.begin(), neighbours.end());
}

// An epilogue of polynomials, written out for each row of a tile, is long code and no faster: it becomes a loop over
// the rows, and the sums are on the stack.
void loop_over_epilogue(ScheduleDraft& draft, const std::string& sum, const std::string& epilogue) {
  StageSchedule& se = draft.schedule.stages[epilogue];
  const te::Tensor e = draft.stage(epilogue);
  if (!is_expensive(draft.expanded(e).body(*e))) return;
  const te::Tensor r = draft.stage(sum);
  StageSchedule& sr = draft.schedule.stages[sum];
  if (sr.storage == Storage::Registers) {
    const te::Tensor stored = copy_stage(r, sum + "_stored");
    draft.redirect(r, stored);
    StageSchedule s = sr;
    s.storage = Storage::Stack;
    s.prefetch.clear();  // inputs of the sum are fetched where the sum is computed
    std::erase_if(s.loops, [&](const Loop& l) { return is_reduce_axis(*r, l.axis); });
    sr.consumer = stored->name, sr.level = 0;
    draft.schedule.stages[stored->name] = s;
  }
  const std::string lanes = se.loops.back().axis;
  for (Loop& l : se.loops)
    if (l.kind == LoopKind::Unroll && l.axis != lanes) l.kind = LoopKind::Serial;
}

// True if neighbouring results read the same elements: their windows overlap.
bool overlaps(const te::TensorNode& r, const LoadFact& load) {
  return std::any_of(load.coefficients.begin(), load.coefficients.end(), [&](const auto& of) {
    if (!of) return true;
    int64_t step = 0, taps = 1;
    for (const auto& [axis, coefficient] : *of)
      if (is_reduce_axis(r, axis))
        taps += coefficient * (extent_or(*find_axis(r, axis), 1) - 1);
      else
        step = coefficient;
    return step > 0 && taps > step;
  });
}

// Data whose elements are read for only one row each, and for few blocks of N: the next tile is fetched while this one
// is used.
bool streams_data(const ScheduleDraft& draft, const Contraction& c) {
  constexpr int64_t max_blocks = 4;  // of N: data that is read for more of them stays in L1
  return !c.grouped() && !draft.form.by_channels && !c.x.empty() && c.left.loads.size() == 1 &&
         (c.n_outermost || c.n_extent <= max_blocks * c.block()) && !overlaps(*c.sum, c.left.loads[0]);
}

// Weights that are not in L2 when they are needed: the next block is fetched while this one is used. With more than
// max_rows rows, waiting for a block once costs less than prefetching it with each tile. With one row, the processor
// fetches floats early enough by itself; bytes have to be converted, which takes so long that it sees few of the next
// ones (Zen 3: int8 and int4, 98304 x 576, take 0.77 and 0.97 of the time, float32, 49152 x 576, 1.1).
void prefetch_streamed_weights(ScheduleDraft& draft, const Contraction& c) {
  constexpr int64_t max_rows = 512;  // measured with ResNet-50's and BERT's products on Zen 4 and Ice Lake
  if (!c.n_outermost || c.panel || c.row_count > max_rows || c.n_extent <= c.block() || !is_constant(draft, c.right))
    return;
  for (const LoadFact& l : c.right.loads)
    if (c.rows.empty() ? l.tensor->dtype.bytes() == 1 : c.right.loads.size() == 1)
      prefetch_weights(draft, c.sum->name, l.tensor->name, c.n, c.block());
}

// Additions to the loops: copies of packed or badly stored factors, long sums in parts, prefetches. The stages are
// recreated with the same names. Returns the changes to rows, in words.
std::string refine(ScheduleDraft& draft, const Contraction& c, int panel_level) {
  const std::string sum = c.sum->name, result = c.result->name;
  if (c.panel) add_panel(draft, c.sum, *c.panel, result, panel_level);
  const std::string copied =
      draft.form.by_channels ? "" : add_row_copy(draft, draft.stage(sum), c.left.loads, c.x, c.tile.tx * c.tile.ty);
  const bool in_blocks = !copied.empty() && !c.panel && c.n_outermost &&
                         std::all_of(c.rows.begin(), c.rows.end(),
                                     [&](const std::string& name) { return scalar::is_int(c.axis(name).extent); });
  split_long_sum(draft, draft.stage(sum), in_blocks ? 2 * terms_of_part : terms_of_part);
  const bool rows_copied = !copied.empty() && place_row_copy(draft, copied, sum);
  if (!rows_copied && streams_data(draft, c)) prefetch_data(draft, sum, c.left.loads[0].tensor->name, c.x, c.tile.tx);
  if (rows_copied && in_blocks) {
    block_row_copy(draft, sum, c.n, c.rows, c.block());
  } else {
    loop_over_epilogue(draft, sum, result);
    if (!draft.form.is_merged()) prefetch_tiles(draft, result);
  }
  prefetch_streamed_weights(draft, c);
  return !rows_copied ? "" : in_blocks ? ", blocks of rows copied" : ", rows copied";
}

}  // namespace

static void schedule_contraction(ScheduleDraft& draft, const Contraction& c) {
  pack_constants(draft, c);
  const Levels levels = schedule_result(draft, c);
  schedule_sum(draft, c, levels.tile);
  const std::string of_rows = refine(draft, c, levels.panel);
  const StageFacts& facts = c.facts;
  draft.note(format("{}: contraction, register tile {} x {} vectors of {} along {}{}{}{}{}{}", c.result->name,
                    c.tile.tx * c.tile.ty, c.tile.nb, c.lanes, c.n,
                    facts.products_per_step > 1 ? format(", {} products at once", facts.products_per_step) : "",
                    draft.form.by_channels ? ", a row of an image stored by channels"
                    : c.grouped()          ? format(", groups of {}", facts.group)
                                           : "",
                    c.panel         ? ", panels packed in front"
                    : c.n_outermost ? ", weights outermost"
                                    : "",
                    of_rows, c.skips_padding.empty() ? "" : ", taps in the padding left out"));
}

RuleCandidates contraction_rule(const ScheduleDraft& draft, const te::Tensor& r, const te::Tensor& e,
                                const StageFacts& facts) {
  if (!facts.contraction || e->axes.empty()) return {};
  Contraction c{r,
                e,
                facts,
                storage_order(*e, draft.layout(e)),
                {facts.left, facts.left_loads},
                {facts.right, facts.right_loads},
                draft.lanes(r->dtype)};
  if (is_stored_along_both(c) || !choose_lanes(draft, c) || !fills_lanes(draft, c)) return {};
  find_rows(c);
  order_reduction(draft, c);
  const std::vector<RegisterTile> tiles = register_tiles(draft, c);
  const std::optional<PanelSource> source = source_of_panels(draft, c);
  const double ns = ns_per_cost(*draft.target, c);
  const auto found = std::make_shared<const Contraction>(c);  // one for all candidates
  RuleCandidates out;
  for (const RegisterTile& tile : tiles) {
    c.tile = tile;
    const std::string name = format("{}{}x{}", tile.ty > 1 ? format("{}x", tile.ty) : "", tile.tx, tile.nb);
    for (const std::string& read : ways_to_read(draft, c, source)) {
      c.panel = read == "packed" ? source : std::nullopt;
      for (const std::string& outermost : outermost_loops(draft, c)) {
        c.n_outermost = outermost == "weights";
        out.push_back({{{"tile", name}, {"panel", read}, {"outermost", outermost}},
                       tile.cost * ns,
                       [found, tile, panel = c.panel, n_outermost = c.n_outermost](ScheduleDraft& of) {
                         Contraction chosen = *found;
                         chosen.tile = tile, chosen.panel = panel, chosen.n_outermost = n_outermost;
                         schedule_contraction(of, chosen);
                       }});
      }
    }
  }
  return out;
}

}  // namespace relay::lower
