// Contractions of narrow numbers on tiles, in registers of their own (AMX) or vector registers (AArch64): dense
// products and convolutions whose channels are adjacent. dot_products.cpp has turned the sum into one of groups of
// products, and has chosen tiles for it.
//
//   stage relu: root
//     loops n/32:parallel m/32:parallel m/1 n/16:unroll n/1:vector
//   stage dense_stored: at relu.2 stack
//     loops m/16:unroll n/16:unroll m/1:tile n/1:tile
//   stage dense: at dense_stored.0 tiles
//     loops k/16 m/16:unroll n/16:unroll m/1:tile n/1:tile k/1:tile
//
// Two tiles of rows times two of columns are summed at once: four sums, each of which waits 52 cycles for the one
// before it, and each step of K loads four tiles for four products. The sums leave the tiles through a block on the
// stack, whose rows are short: rows of an array at distances of 4096 bytes would meet in few sets of L1. From there the
// epilogue reads them: it requantises, adds the bias, and so on.
//
// In vector registers, a tile has 2 rows and 2 columns, and 4 times 4 of them are summed at once.
//
// A convolution of four channels has one group for each pixel. Its steps are the pixels of a window's row, which are
// adjacent too: seven of them for 7 x 7.
//
// Rows are neighbours along one axis of the result, for an image along x, so no window is copied: a row of a tile is a
// run of channels of one pixel. Lines that are much shorter than a tile are joined (join_lines.cpp).
//
// Weights are packed so that a step reads the two tiles from one contiguous stream. They come outermost: a block of
// them stays in cache for all rows. If all of them stay in L1, rows come first, so that whole pixels are written one
// after the other. The next block is fetched meanwhile, if the rows are few (`prefetch weight n/32`): by each block of
// rows a part. A factor that is computed is stored in groups by another kernel (computed.cpp), and each product of a
// batch has its own.
#include <algorithm>

#include "relay/lower/rules/narrow/factors.h"
#include "relay/lower/rules/rule_functions.h"
#include "relay/machine/instruction.h"

namespace relay::lower {

namespace {

// The largest divisor of `count` that is at most `most`.
int64_t largest_divisor(int64_t count, int64_t most) {
  int64_t found = std::min(count, most);
  while (count % found != 0) --found;
  return found;
}

double used(int64_t of, int64_t step) {
  const int64_t rounded = (of + step - 1) / step * step;
  return static_cast<double>(of) / static_cast<double>(rounded);
}

// True if the load is affine along the axis, which moves a single dimension.
bool moves_one_dimension(const LoadFact& load, const std::string& axis) {
  int moved = 0;
  for (const auto& of : load.coefficients) {
    if (!of) return false;
    moved += of->count(axis) > 0 && of->at(axis) != 0 ? 1 : 0;
  }
  return moved == 1;
}

// True if the load reads a number of a group, the last dimension: a computed factor (computed.cpp).
bool is_in_groups(const LoadFact& load, int64_t products) {
  const te::TensorNode& t = *load.tensor;
  return !t.is_placeholder() && t.shape.size() >= 3 && scalar::is_int(t.shape.back(), products) &&
         load.coefficients.back() && load.coefficients.back()->empty();
}

// The constant axis of the sum's steps: the weight moves by a group with it, or by one group of those in which it is
// stored. (A window may move the data by as many elements, but not the weight.) Null if there is none.
const te::Axis* steps_axis(const te::TensorNode& r, const LoadFact& weight, int64_t products) {
  const bool in_groups = is_in_groups(weight, products);
  const te::Axis* k = nullptr;
  for (const te::Axis& a : r.reduce_axes)
    for (const auto& of : weight.coefficients)
      if (of && of->count(a.var->name) && of->at(a.var->name) == (in_groups ? 1 : products)) k = &a;
  return k && scalar::is_int(k->extent) ? k : nullptr;
}

// True if all that the sum reads of a dimension of the weight is one group.
bool is_one_group(const LoadFact& weight, size_t dim, int64_t products) {
  return weight.coefficients[dim] && weight.coefficients[dim]->empty() &&
         scalar::is_int(weight.tensor->shape[dim], products);
}

// Packs the weight: [N / block][sums in the order of loops][N % block][products of a group]. `grouped`: the axis of the
// groups; "" if there is one.
void pack_weight(ScheduleDraft& draft, const LoadFact& weight, const TileShape& t,
                 const std::vector<std::string>& reduce, const std::string& grouped) {
  const int64_t block = t.across_n * t.instruction->columns(), products = t.instruction->products;
  int n_dim = -1, k_dim = -1;
  std::vector<std::pair<int, int>> others;  // position of the loop, dimension
  for (size_t d = 0; d < weight.coefficients.size(); ++d) {
    const auto& of = *weight.coefficients[d];
    const int dim = static_cast<int>(d);
    if (of.count(t.n)) {
      n_dim = dim;
      continue;
    }
    if (grouped.empty() ? is_one_group(weight, d, products) : of.count(grouped) > 0) k_dim = dim;
    int position = -1;
    for (size_t i = 0; i < reduce.size(); ++i)
      if (of.count(reduce[i])) position = static_cast<int>(i);
    others.push_back({position, dim});
  }
  std::sort(others.begin(), others.end());
  Layout packed;
  packed.dims.push_back({n_dim, block, false});
  for (const auto& [position, d] : others) packed.dims.push_back({d, d == k_dim ? products : 0, false});
  packed.dims.push_back({n_dim, block, true});
  packed.dims.push_back({k_dim, products, true});
  draft.layouts[weight.tensor->name] = packed;
  draft.schedule.layouts[weight.tensor->name] = packed;
}

}  // namespace

TileSteps tile_steps(const ScheduleDraft& draft, const te::TensorNode& sum, const LoadFact& data, const std::string& k,
                     int64_t groups, int64_t products) {
  const TileSteps usual{k, groups};
  const Layout layout = draft.layout(data.tensor);
  if (groups != 1 || layout.dims.size() < 2 || layout.row_padding != 0) return usual;
  const LayoutDim &pixel = layout.dims.back(), &row = layout.dims[layout.dims.size() - 2];
  const bool is_whole = pixel.block == 0 && row.block == 0 &&
                        scalar::is_int(data.tensor->shape[static_cast<size_t>(pixel.dim)], products);
  const auto& along_row = data.coefficients[static_cast<size_t>(row.dim)];
  if (!is_whole || !along_row || (!k.empty() && !moves_one_dimension(data, k))) return usual;
  for (const te::Axis& a : sum.reduce_axes)
    if (const auto found = along_row->find(a.var->name); found != along_row->end() && found->second == 1 &&
                                                         scalar::is_int(a.extent) &&
                                                         moves_one_dimension(data, a.var->name))
      return {a.var->name, a.extent->ivalue};
  return usual;
}

std::optional<TileShape> tile_shape(const ScheduleDraft& draft, const te::Tensor& sum, const LoadFact& data,
                                    const LoadFact& weight, const std::string& k, int64_t groups,
                                    const machine::Instruction* instruction) {
  // AMX: half of the time goes to loads, stores and the epilogue; prototypes reach half of the rate of products alone.
  constexpr double reached_on_tiles = 0.5;
  // Vector registers: of 32, 16 hold tiles of sums, 4 of data and 4 of weights. A step has 16 products, and 4
  // insertions of the second row of data into a register.
  constexpr double reached_in_vectors = 0.8;
  constexpr int64_t across_in_vectors = 4, across_on_tiles = 2;
  constexpr int64_t most_joined = 128;  // results of an image whose lines are joined: 16 KiB for two tiles of columns
  constexpr int64_t least_blocks = 8;   // of columns, among which threads divide such an image
  const double reached = instruction->in_vectors ? reached_in_vectors : reached_on_tiles;
  const int64_t most_across = instruction->in_vectors ? across_in_vectors : across_on_tiles;
  TileShape t{instruction};
  t.k = k;
  for (const te::Axis& a : sum->axes) {
    const std::string& name = a.var->name;
    if (weight.axes.count(name)) {
      if (data.axes.count(name)) continue;  // products of each number along this axis
      if (!t.n.empty() || !scalar::is_int(a.extent) || !moves_one_dimension(weight, name)) return std::nullopt;
      t.n = name;
    } else if (scalar::is_int(a.extent) && a.extent->ivalue > 1 && moves_one_dimension(data, name)) {
      t.y = t.x, t.x = name;
    }
  }
  for (const auto& of : weight.coefficients)
    if (!of) return std::nullopt;
  if (t.n.empty() || t.x.empty() || groups < 1) return std::nullopt;
  const int64_t most_rows = instruction->rows, columns = instruction->columns(),
                x = find_axis(*sum, t.x)->extent->ivalue, n = find_axis(*sum, t.n)->extent->ivalue,
                y = t.y.empty() ? 1 : find_axis(*sum, t.y)->extent->ivalue, tiles = (x + most_rows - 1) / most_rows;
  t.steps = largest_divisor(groups, instruction->steps);
  t.rows = (x + tiles - 1) / tiles;
  t.across_x = std::min(tiles, most_across);
  t.across_y = t.across_x == 1 ? std::min(y, most_across) : 1;
  t.across_n = std::min((n + columns - 1) / columns, most_across);
  const double rate = machine::fastest_instruction(*draft.target, instruction->left, instruction->right,
                                                   instruction->sum, machine::Registers::Tile)
                          .multiply_adds_per_cycle();
  double used_rows = used(x, tiles * most_rows);
  const int64_t pitch = t.y.empty() || instruction->in_vectors ? 0 : joined_lines(draft, data, t.y, t.x),
                joined = (y - 1) * pitch + x, joined_tiles = (joined + most_rows - 1) / most_rows;
  // A few tiles less do not pay for the results that are not read, and for tasks that are whole images.
  if (pitch > 0 && joined <= most_joined && 4 * joined_tiles <= 3 * y * tiles && n >= least_blocks * columns) {
    t.pitch = pitch, t.rows = (joined + joined_tiles - 1) / joined_tiles;
    t.across_x = std::min(joined_tiles, most_across), t.across_y = 1;
    used_rows = static_cast<double>(x * y) / static_cast<double>(joined_tiles * most_rows);
  }
  t.multiply_adds_per_cycle =
      reached * rate * used_rows * used(n, columns) * static_cast<double>(t.steps) / instruction->steps;
  return t;
}

// Fetches the next block of weights while this one is multiplied. With more rows, waiting for a block once costs less.
static void prefetch_next_weights(ScheduleDraft& draft, const te::Tensor& r, const LoadFact& weight,
                                  const TileShape& t) {
  constexpr int64_t most_rows = 512;  // as contractions in registers
  const int64_t block = t.across_n * t.instruction->columns(), x = find_axis(*r, t.x)->extent->ivalue,
                y = t.y.empty() ? 1 : find_axis(*r, t.y)->extent->ivalue;
  if (draft.constants.count(weight.tensor->name) && !t.instruction->in_vectors && x * y <= most_rows &&
      find_axis(*r, t.n)->extent->ivalue > block)
    prefetch_weights(draft, r->name, weight.tensor->name, t.n, block);
}

static double bytes_of(const te::TensorNode& array) {
  double bytes = array.dtype.bytes();
  for (const Expr& extent : array.shape)
    bytes *= static_cast<double>(scalar::is_int(extent) ? extent->ivalue : usual_features);
  return bytes;
}

// The loops over blocks of the result: axes of both factors outermost, then blocks of columns and all other axes.
static std::vector<Loop> blocks_of_result(const ScheduleDraft& draft, const te::Tensor& r, const te::Tensor& e,
                                          const LoadFact& weight, const TileShape& t) {
  const std::string n = same_axis(*r, t.n, *e), x = same_axis(*r, t.x, *e), y = same_axis(*r, t.y, *e);
  std::vector<Loop> loops, rows;
  auto is_of_both = [&](const std::string& axis) {
    return axis != n && weight.axes.count(same_axis(*e, axis, *r)) > 0;
  };
  auto block = [&](const std::string& axis) {
    if (axis != x && axis != y) return int64_t{1};
    if (t.pitch > 0) return find_axis(*e, axis)->extent->ivalue;
    return axis == x ? t.across_x * t.rows : t.across_y;
  };
  const std::vector<std::string> order = storage_order(*e, draft.layout(e));
  int64_t blocks = 1;
  for (const std::string& axis : order) {
    if (axis == n) continue;
    if (is_of_both(axis)) {
      loops.push_back({axis, 1, LoopKind::Parallel});
      continue;
    }
    rows.push_back({axis, block(axis), LoopKind::Parallel});
    blocks *= (extent_or(*find_axis(*e, axis), usual_rows) + block(axis) - 1) / block(axis);
  }
  const bool rows_first =
      !t.instruction->in_vectors && blocks >= enough_tasks && stays_in_l1(*draft.target, bytes_of(*weight.tensor));
  const Loop columns{n, t.across_n * t.instruction->columns(), rows_first ? LoopKind::Serial : LoopKind::Parallel};
  rows.insert(rows_first ? rows.end() : rows.begin(), columns);
  loops.insert(loops.end(), rows.begin(), rows.end());
  return loops;
}

// Stores the sum in tiles, under a copy of it that the epilogue reads.
static void apply_tiles(ScheduleDraft& draft, te::Tensor r, te::Tensor e, const LoadFact& data, const LoadFact& weight,
                        TileShape t, const std::string& grouped) {
  const machine::Instruction& instruction = *t.instruction;
  std::vector<std::string> reduce;
  for (const te::Axis& a : r->reduce_axes)
    if (a.var->name != t.k) reduce.push_back(a.var->name);
  reduce.push_back(t.k);
  if (draft.constants.count(weight.tensor->name)) pack_weight(draft, weight, t, reduce, grouped);

  StageSchedule& result = draft.schedule.stages[e->name];
  result = {};
  result.place = Place::Root, result.loops = blocks_of_result(draft, r, e, weight, t);
  const int level = static_cast<int>(result.loops.size());
  if (t.across_y > 1 || t.pitch > 0) result.loops.push_back({same_axis(*r, t.y, *e), 1});
  result.loops.push_back({same_axis(*r, t.x, *e), 1});
  add_vector(result.loops, same_axis(*r, t.n, *e), draft.lanes(r->dtype));
  if (t.pitch > 0) {
    t.x = join_lines(draft, r, data, t.y, t.x), t.y = "";
    r = draft.stage(r->name), e = draft.stage(e->name);
  }
  const int64_t columns = instruction.columns();

  // Loops over the tiles of a block, and over the elements of a tile.
  auto add_tiles = [&](std::vector<Loop>& loops) {
    for (const te::Axis& a : r->axes) {
      const std::string& name = a.var->name;
      if (name != t.x && name != t.n) loops.push_back({name, 1, LoopKind::Unroll});
    }
    loops.push_back({t.x, t.rows, LoopKind::Unroll});
    loops.push_back({t.n, columns, LoopKind::Unroll});
    loops.push_back({t.x, 1, LoopKind::Tile});
    loops.push_back({t.n, 1, LoopKind::Tile});
  };
  const te::Tensor stored = copy_stage(r, unused_name(draft, r->name + "_stored"));
  StageSchedule of_stored;
  of_stored.place = Place::At, of_stored.consumer = e->name, of_stored.level = level;
  of_stored.storage = Storage::Stack;
  if (t.pitch > 0) of_stored.loops.push_back({t.x, t.across_x * t.rows});
  StageSchedule of_sum;
  of_sum.place = Place::At, of_sum.consumer = stored->name, of_sum.storage = Storage::Tiles;
  of_sum.level = static_cast<int>(of_stored.loops.size());
  add_tiles(of_stored.loops);
  for (const std::string& axis : reduce) of_sum.loops.push_back({axis, axis == t.k ? t.steps : 1});
  add_tiles(of_sum.loops);
  of_sum.loops.push_back({t.k, 1, LoopKind::Tile});
  draft.redirect(r, stored);
  draft.schedule.stages[stored->name] = of_stored;
  draft.schedule.stages[r->name] = of_sum;
  prefetch_next_weights(draft, r, weight, t);
  draft.note(format("{}: products on {} x {} tiles of {} rows, {} x {} at once", e->name, t.across_x * t.across_y,
                    t.across_n, t.rows, t.steps, instruction.products) +
             (t.pitch > 0 ? ", lines joined" : ""));
}

RuleCandidates tiles_rule(const ScheduleDraft& draft, const te::Tensor& r, const te::Tensor& e,
                          const StageFacts& facts) {
  const Expr body = draft.expanded(r).body(*r);
  if (body->kind != scalar::Kind::Dot || !facts.contraction || !facts.grouped.empty() || !facts.peeled_axis.empty())
    return {};
  const size_t products = body->args.size() / 2;
  const machine::Instruction* instruction = machine::find_tile_instruction(
      *draft.target, body->args[0]->dtype, body->args[products]->dtype, r->dtype, static_cast<int>(products));
  if (!instruction || facts.left_loads.size() != 1 || facts.right_loads.size() != 1) return {};
  const LoadFact &data = facts.left_loads[0], &weight = facts.right_loads[0];
  if (!draft.constants.count(weight.tensor->name) && !is_in_groups(weight, instruction->products)) return {};
  for (const Expr& number : body->args)
    if (number->kind != scalar::Kind::Load) return {};
  const te::Axis* k = steps_axis(*r, weight, static_cast<int64_t>(products));
  bool has_one_group = false;
  for (size_t d = 0; d < weight.coefficients.size(); ++d)
    has_one_group |= is_one_group(weight, d, instruction->products);
  const std::string grouped = k ? k->var->name : "";
  const TileSteps steps = tile_steps(draft, *r, data, grouped, k ? k->extent->ivalue : 1, instruction->products);
  if (steps.axis.empty() || (!k && !has_one_group)) return {};
  const std::optional<TileShape> shape = tile_shape(draft, r, data, weight, steps.axis, steps.count, instruction);
  const double others = machine::fastest_instruction(*draft.target, instruction->left, instruction->right, r->dtype)
                            .multiply_adds_per_cycle();
  if (!shape || shape->multiply_adds_per_cycle < others) return {};
  return only([&r, &e, &data, &weight, shape = *shape, grouped](ScheduleDraft& changed) {
    apply_tiles(changed, r, e, data, weight, shape, grouped);
  });
}

}  // namespace relay::lower
