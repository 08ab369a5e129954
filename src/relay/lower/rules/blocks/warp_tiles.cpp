// Products on tensor cores: dense and batched products of narrow numbers on devices whose warps multiply tiles
// (machine/instructions.def, "nvptx64"). A block computes a tile of the result, and each of its warps a part of it. For
// some groups of terms at a time, the block copies what it needs of both factors to shared memory; then each warp adds
// their products to its tiles of sums. The epilogue reads the sums where they are, in the registers of the lanes.
//
//   stage relu: root
//     loops m/64:block n/64:block m/32:thread n/32:thread m/16:unroll n/8:unroll m/1:tile n/1:tile
//   stage dense: at relu.4 tiles
//     loops k/16 k/8 m/16:unroll n/8:unroll m/1:tile n/1:tile k/1:tile
//   stage data_shared: at dense.1 shared
//     loops m/1:thread k/1:thread
//   stage weight_shared: at dense.1 shared
//     loops n/1:thread k/1:thread
//
// The sum is over groups of numbers, as the instruction takes them (narrow/dot_products.cpp does the same for CPUs):
//
//   dense[m, n] = sum(k < 128) dot_float32(data_shared[m, 2 k], data_shared[m, 2 k + 1], weight_shared[n, 2 k], ..)
//
// Where the device has asynchronous copies and the rows of both factors are multiples of their bytes, shared memory
// holds several steps, and the next ones are copied while one is multiplied:
//
//   stage data_shared: at dense.1 shared
//     loops m/1:thread k/8:thread k/3:async
//
// Otherwise threads copy numbers through their registers, and wait for them at each step.
//
// Copies are stored with the terms innermost, because a register holds a group. Sums are not divided into parts: they
// have more bits than the numbers need, and how an instruction adds the terms is not stated anyway.
#include <algorithm>
#include <cmath>

#include "relay/lower/rules/blocks/shared_copies.h"
#include "relay/lower/rules/narrow/factors.h"
#include "relay/lower/rules/rule_functions.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

namespace {

using scalar::Kind;

// An axis of the result that the tiles of a block cover in part.
struct WarpAxis {
  std::string name{};  // the sum's
  int64_t extent = 1;
  int64_t each = 1, warps = 1;  // the elements of a warp, and the warps along it

  int64_t block() const { return each * warps; }
  int64_t blocks() const { return (extent + block() - 1) / block(); }
};

struct WarpTiles {
  te::Tensor sum, result;
  machine::RatedInstruction rated{};
  SharedFactor left{}, right{};  // rows are of the left one
  WarpAxis rows{}, columns{};
  int64_t others = 1;  // tiles along the other axes
  std::string k{};     // the sum's axis
  int64_t groups = 1;  // of terms
  int64_t step = 1;    // groups of a step
  int64_t stages = 1;  // steps in shared memory at once; 1: numbers are copied through registers

  const machine::Instruction& instruction() const { return *rated.instruction; }
  int64_t warps() const { return rows.warps * columns.warps; }
  int64_t blocks() const { return others * rows.blocks() * columns.blocks(); }
  const WarpAxis* along(const std::string& name) const {
    return name == rows.name ? &rows : name == columns.name ? &columns : nullptr;
  }
};

// A number that is read and widened to the type of the sum; empty for other forms.
SharedFactor widened_load(const Expr& e, DType sum) {
  if (e->kind != Kind::Cast || e->dtype != sum || e->args[0]->kind != Kind::Load) return {};
  const te::TensorNode* t = dynamic_cast<const te::TensorNode*>(e->args[0]->source.get());
  return t ? SharedFactor{te::Tensor(t), e->args[0]} : SharedFactor{};
}

// True if each index is an axis of its own, or a constant.
bool has_plain_indices(const SharedFactor& f) {
  std::set<std::string> seen;
  return std::all_of(f.load->args.begin(), f.load->args.end(), [&](const Expr& index) {
    return scalar::is_int(index) || (index->kind == Kind::Var && seen.insert(index->name).second);
  });
}

bool moves_along(const SharedFactor& f, const std::string& axis) {
  return std::any_of(f.load->args.begin(), f.load->args.end(),
                     [&](const Expr& index) { return index->kind == Kind::Var && index->name == axis; });
}

// False if no instruction of the target computes the stage.
bool find_factors(const ScheduleDraft& draft, WarpTiles& s) {
  const te::TensorNode& sum = *s.sum;
  if (sum.reduce_axes.size() != 1 || !scalar::is_int(sum.reduce_axes[0].extent) || sum.body->kind != Kind::Binary ||
      sum.body->binary != scalar::BinaryOp::Mul)
    return false;
  s.k = sum.reduce_axes[0].var->name;
  s.left = widened_load(sum.body->args[0], sum.dtype), s.right = widened_load(sum.body->args[1], sum.dtype);
  for (const SharedFactor& f : {s.left, s.right})
    if (!f.tensor || !has_plain_indices(f) || !moves_along(f, s.k)) return false;
  if (s.left.tensor == s.right.tensor) return false;
  // Columns are along the axis in which the result is stored.
  const std::string last = same_axis(*s.result, storage_order(*s.result, draft.layout(s.result)).back(), sum);
  if (moves_along(s.left, last)) std::swap(s.left, s.right);
  s.rated = machine::fastest_instruction(*draft.target, s.left.tensor->dtype, s.right.tensor->dtype, sum.dtype,
                                         machine::Registers::Tile);
  if (!s.rated.instruction || s.rated.per_cycle <= 0) return false;
  const int64_t terms = sum.reduce_axes[0].extent->ivalue;
  s.groups = terms / s.instruction().products;
  return terms > 0 && terms % (int64_t{s.instruction().products} * s.instruction().steps) == 0;
}

// The longest axes of the rows and of the columns.
bool find_axes(WarpTiles& s) {
  for (const te::Axis& a : s.sum->axes) {
    const bool left = moves_along(s.left, a.var->name), right = moves_along(s.right, a.var->name);
    const int64_t extent = extent_or(a, usual_rows);
    s.others *= extent;
    if (left == right) continue;
    WarpAxis& of = left ? s.rows : s.columns;
    if (of.name.empty() || extent > of.extent) of.name = a.var->name, of.extent = extent;
  }
  if (s.rows.name.empty() || s.columns.name.empty()) return false;
  s.others /= s.rows.extent * s.columns.extent;
  return true;
}

int64_t shared_bytes_of(const WarpTiles& s) {
  constexpr int64_t gap = 16;   // bytes behind a row (nest/nest_storage.cpp)
  constexpr int64_t group = 4;  // bytes
  return s.stages * (s.step * group + gap) * (s.rows.block() + s.columns.block());
}

// Registers of a thread, by a count: sums, the operands of a step, addresses.
int64_t registers_of(const WarpTiles& s, int64_t warp) {
  constexpr int64_t of_addresses = 66;  // ptxas 13.0 takes 48 to 84 beside sums and operands, on sm_80
  return (s.rows.each * s.columns.each + (s.rows.each + s.columns.each) * s.instruction().steps) / warp + of_addresses;
}

// Nanoseconds: the blocks of a multiprocessor, one after the other. Products, reads of shared memory and copies are
// issued by different units, but a block waits for its copies.
double estimate(const TargetDesc& target, const WarpTiles& s) {
  const BlockFigures& gpu = target.blocks;
  const double rows = static_cast<double>(s.rows.block()), columns = static_cast<double>(s.columns.block()),
               terms = static_cast<double>(s.groups * s.instruction().products), warps = static_cast<double>(s.warps()),
               warp = gpu.warp;
  const double products = rows * columns * terms / s.rated.multiply_adds_per_cycle();
  // A warp reads 32 groups of a factor in a cycle.
  const double reads = warps * static_cast<double>((s.rows.each + s.columns.each) * s.groups) / warp;
  // Instructions of warps; for a copied number or, if copies are asynchronous, for as many as are copied at once.
  constexpr double instructions_per_cycle = 4, of_a_copy = 8, longest_copy = 16;  // bytes
  const double at_once_copied = s.stages > 1 ? longest_copy / s.left.tensor->dtype.bytes() : 1;
  const double copies = (rows + columns) * terms / at_once_copied / warp * of_a_copy / instructions_per_cycle;
  constexpr double wait_cycles = 600, barrier_cycles = 40;  // for the device's memory
  const double steps = static_cast<double>(s.groups) / static_cast<double>(s.step);
  const double each = std::ceil(static_cast<double>(s.blocks()) / target.cores);
  double at_once =
      std::min(static_cast<double>(gpu.threads_at_once) / (warps * warp),
               static_cast<double>(gpu.registers) / (static_cast<double>(registers_of(s, gpu.warp)) * warps * warp));
  at_once = std::min(at_once, static_cast<double>(gpu.shared_bytes_at_once) / static_cast<double>(shared_bytes_of(s)));
  at_once = std::max(1.0, std::min(std::floor(at_once), each));
  // While copies are under way, the block multiplies the steps in front of theirs.
  const double hidden = static_cast<double>(s.stages - 1) * std::max(products, reads) / steps;
  const double waits = steps * (barrier_cycles + std::max(0.0, wait_cycles - barrier_cycles - hidden * at_once));
  return each * (std::max(products, reads) + copies + waits / at_once) / target.ghz;
}

// Sets the tile of a block. False if it does not fit the device or the result.
bool shape_tile(const TargetDesc& target, WarpTiles& s, int64_t rows, int64_t columns, int64_t down, int64_t across,
                int64_t stages) {
  const machine::Instruction& i = s.instruction();
  s.rows.each = rows, s.rows.warps = down, s.columns.each = columns, s.columns.warps = across;
  if (rows % i.rows != 0 || columns % i.columns() != 0) return false;
  // No warp has nothing to do.
  if ((down > 1 && rows * (down - 1) >= s.rows.extent) || (across > 1 && columns * (across - 1) >= s.columns.extent))
    return false;
  constexpr int64_t longest = 16;  // groups: 64 bytes
  s.step = longest;
  while (s.step > i.steps && s.groups % s.step != 0) s.step /= 2;
  s.stages = stages;
  if (stages > 1 && s.groups / s.step < stages) return false;
  constexpr int64_t most_registers = 200;  // of 255, without spills
  const BlockFigures& gpu = target.blocks;
  return s.step % i.steps == 0 && s.warps() * gpu.warp <= gpu.threads && registers_of(s, gpu.warp) <= most_registers &&
         shared_bytes_of(s) <= gpu.shared_bytes;
}

// The numbers of a factor that are copied at once, asynchronously; 0 if the device has no such copies, or the numbers
// are not known to be aligned neighbours of an array.
int64_t copied_at_once(const ScheduleDraft& draft, const WarpTiles& s, const SharedFactor& f) {
  const int rank = static_cast<int>(f.load->args.size());
  int last = -1;  // the dimension of the terms
  for (int d = 0; d < rank; ++d)
    if (const Expr& index = f.load->args[static_cast<size_t>(d)]; scalar::is_var(index) && index->name == s.k) last = d;
  Layout layout = draft.layout(f.tensor);
  const bool is_constant = draft.constants.count(f.tensor->name) > 0;
  if (is_constant && layout.dims.back().dim != last) layout = stored_last(rank, last);
  const auto stage = draft.schedule.stages.find(f.tensor->name);
  const bool is_array =
      f.tensor->is_placeholder() || (stage != draft.schedule.stages.end() && stage->second.place == Place::Root);
  const Expr row = scalar::simplify(layout.physical_shape(f.tensor->shape).back());
  if (!is_array || layout.dims.back().dim != last || layout.dims.back().block || !scalar::is_int(row) ||
      (!layout.low.empty() && layout.low[static_cast<size_t>(last)] != 0))
    return 0;
  const int64_t terms = s.step * s.instruction().products;
  constexpr int64_t sizes[] = {16, 8, 4};  // bytes of a copy
  for (const int64_t bytes : sizes) {
    const int64_t numbers = bytes / f.tensor->dtype.bytes();
    if (machine::find_copy_instruction(*draft.target, bytes).instruction && row->ivalue % numbers == 0 &&
        terms % numbers == 0)
      return numbers;
  }
  return 0;
}

// The factor as groups of a copy in shared memory.
Exprs share_factor(ScheduleDraft& draft, const WarpTiles& s, const SharedFactor& f, const Expr& step) {
  std::vector<int> order;
  const te::Tensor copy = shared_copy_of(draft, f, {}, {s.k}, order);
  Exprs indices, numbers;
  for (int d : order) indices.push_back(f.load->args[static_cast<size_t>(d)]);
  for (int64_t i = 0; i < s.instruction().products; ++i)
    numbers.push_back(
        number_of_step(scalar::load(copy, indices), s.sum->reduce_axes[0], step, s.instruction().products, i));
  StageSchedule& filled = draft.schedule.stages[copy->name];
  filled.place = Place::At, filled.consumer = s.sum->name, filled.level = 1;
  filled.storage = Storage::Shared;
  filled.loops = shared_fill_loops(draft, *copy, order, f.tensor);
  if (s.stages > 1) {
    filled.loops.back().step = copied_at_once(draft, s, f);
    filled.loops.push_back({filled.loops.back().axis, s.stages, LoopKind::Async});
  }
  return numbers;
}

// Loops over the tiles of a warp, and over the elements of a tile.
void add_tiles(std::vector<Loop>& loops, const WarpTiles& s, const std::string& rows, const std::string& columns) {
  loops.push_back({rows, s.instruction().rows, LoopKind::Unroll});
  loops.push_back({columns, s.instruction().columns(), LoopKind::Unroll});
  loops.push_back({rows, 1, LoopKind::Tile});
  loops.push_back({columns, 1, LoopKind::Tile});
}

void schedule_warp_tiles(ScheduleDraft& draft, const WarpTiles& s, const StageFacts& facts) {
  store_constants_along(draft, facts, s.k);
  StageSchedule& root = draft.schedule.stages[s.result->name];
  root = {};
  root.place = Place::Root;
  std::vector<Loop> threads;
  std::string rows, columns;  // the result's names
  for (const std::string& stored : storage_order(*s.result, draft.layout(s.result))) {
    const std::string name = same_axis(*s.result, stored, *s.sum);
    const WarpAxis* tile = s.along(name);
    root.loops.push_back({stored, tile ? tile->block() : 1, LoopKind::Block});
    if (tile) threads.push_back({stored, tile->each, LoopKind::Thread});
    if (tile) (tile == &s.rows ? rows : columns) = stored;
  }
  root.loops.insert(root.loops.end(), threads.begin(), threads.end());
  const int level = static_cast<int>(root.loops.size());
  add_tiles(root.loops, s, rows, columns);

  StageSchedule sum;
  sum.place = Place::At, sum.consumer = s.result->name, sum.storage = Storage::Tiles, sum.level = level;
  sum.loops.push_back({s.k, s.step, LoopKind::Serial});
  sum.loops.push_back({s.k, s.instruction().steps, LoopKind::Serial});
  for (const te::Axis& a : s.sum->axes)
    if (!s.along(a.var->name)) sum.loops.push_back({a.var->name, 1});
  add_tiles(sum.loops, s, s.rows.name, s.columns.name);
  sum.loops.push_back({s.k, 1, LoopKind::Tile});
  draft.schedule.stages[s.sum->name] = sum;

  te::TensorNode dots = *s.sum;
  const Expr step = scalar::var(s.k);
  const Exprs left = share_factor(draft, s, s.left, step), right = share_factor(draft, s, s.right, step);
  dots.reduce_axes = {{step, scalar::imm(s.groups)}};
  dots.body = scalar::dot(s.sum->dtype, left, right);
  draft.redirect(s.sum, te::Tensor(new te::TensorNode(std::move(dots))));
  std::string copies = "copied through registers";
  if (s.stages > 1)
    copies = format("copied asynchronously in {} stages, {} and {} bytes at once", s.stages,
                    copied_at_once(draft, s, s.left) * s.left.tensor->dtype.bytes(),
                    copied_at_once(draft, s, s.right) * s.right.tensor->dtype.bytes());
  draft.note(format("{}: products by {}, blocks of {} x {} by {} warps, each {} x {}, {} terms in shared memory, {}",
                    s.result->name, s.instruction().name, s.rows.block(), s.columns.block(), s.warps(), s.rows.each,
                    s.columns.each, s.step * s.instruction().products, copies));
}

}  // namespace

RuleCandidates warp_tiles_rule(const ScheduleDraft& draft, const te::Tensor& r, const te::Tensor& e,
                               const StageFacts& facts) {
  const BlockFigures& gpu = draft.target->blocks;
  if (gpu.threads == 0 || draft.target->instructions.empty() || !facts.contraction || facts.products_per_step != 1 ||
      r->combiner != te::Combiner::Sum || te::has_several_values(*r) || draft.is_step || draft.form.is_merged() ||
      e->axes.size() != r->axes.size())
    return {};
  WarpTiles s{r, e};
  if (!find_factors(draft, s) || !find_axes(s)) return {};
  for (const te::Axis& a : e->axes)
    if (same_axis(*e, a.var->name, *r).empty()) return {};
  // Rows and columns of a tile that the result does not have are multiplied in vain.
  auto used = [](int64_t extent, int64_t tile) {
    return static_cast<double>(extent) / static_cast<double>((extent + tile - 1) / tile * tile);
  };
  constexpr double multiply_adds_per_cycle = 128;  // of the others, on all GPUs since 2016
  const double rate = s.rated.multiply_adds_per_cycle() * used(s.rows.extent, s.instruction().rows) *
                      used(s.columns.extent, s.instruction().columns());
  if (rate < surely_more * multiply_adds_per_cycle) return {};
  RuleCandidates out;
  constexpr int64_t sizes[] = {64, 32, 16};  // elements of a warp along an axis
  constexpr std::pair<int64_t, int64_t> counts[] = {{2, 4}, {2, 2}, {1, 2}, {1, 1}};  // warps
  auto add = [&](int64_t rows, int64_t columns, int64_t down, int64_t across, int64_t stages) {
    if (!shape_tile(*draft.target, s, rows, columns, down, across, stages)) return false;
    if (stages > 1 && (copied_at_once(draft, s, s.left) == 0 || copied_at_once(draft, s, s.right) == 0)) return false;
    out.push_back({{{"block", format("{}x{}by{}x{}", s.rows.block(), s.columns.block(), rows, columns)},
                    {"stages", std::to_string(stages)}},
                   estimate(*draft.target, s),
                   [s, facts](ScheduleDraft& changed) { schedule_warp_tiles(changed, s, facts); }});
    return true;
  };
  for (const auto& [down, across] : counts)
    for (int64_t rows : sizes)
      for (int64_t columns : sizes) {
        bool is_async = false;
        for (const int64_t stages : {3, 4, 2}) is_async |= add(rows, columns, down, across, stages);
        if (!is_async) add(rows, columns, down, across, 1);
      }
  return out;
}

}  // namespace relay::lower
