// Products on tensor cores: dense and batched products and convolutions of narrow numbers on devices whose warps
// multiply tiles (machine/instructions.def, "nvptx64"). A block computes a tile of the result, and each of its warps a
// part of it. For some groups of terms at a time, the block copies what it needs of both factors to shared memory; then
// each warp adds their products to its tiles of sums. The epilogue reads the sums where they are, in the registers of
// the lanes.
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
// Shared memory holds several steps if the device has asynchronous copies and the rows of both factors are multiples of
// their bytes. The next steps are copied while one is multiplied:
//
//   stage data_shared: at dense.1 shared
//     loops m/1:thread k/8:thread k/3:async
//
// Otherwise threads copy numbers through their registers, and wait for them at each step.
//
// In a convolution, rows are the places along a row of the result, and the sum over the channels is such a product for
// each tap of the window:
//
//   stage conv2d: at relu.7 tiles
//     loops ky/1 kx/1 c/16 c/8 n/1 y/1 x/16:unroll o/8:unroll x/1:tile o/1:tile c/1:tile
//   stage data_shared: at conv2d.3 shared
//     loops n/1:thread y/1:thread x/1:thread c/1:thread
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
  int64_t groups = 1;  // of terms along it
  int64_t taps = 1;    // terms along the other axes of the sum
  int64_t stride = 1;  // of neighbouring rows in the left factor
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

// The coefficient of an axis in an index; 0 if it is not there, unset if the index is not affine in it.
std::optional<int64_t> coefficient(const Expr& index, const std::string& axis) {
  const Exprs vars = scalar::free_vars(index);
  const std::optional<scalar::Affine> affine = scalar::as_affine(index, vars);
  if (!affine) return std::nullopt;
  for (size_t v = 0; v < vars.size(); ++v)
    if (vars[v]->name == axis) return affine->coefficients[v];
  return 0;
}

bool moves_along(const SharedFactor& f, const std::string& axis) {
  return std::any_of(f.load->args.begin(), f.load->args.end(),
                     [&](const Expr& index) { return coefficient(index, axis) != 0; });
}

// True if each index is affine in the axes with coefficients above 0, and each axis moves one index.
bool has_affine_indices(const SharedFactor& f) {
  std::set<std::string> seen;
  for (const Expr& index : f.load->args)
    for (const Expr& v : scalar::free_vars(index))
      if (coefficient(index, v->name).value_or(0) <= 0 || !seen.insert(v->name).second) return false;
  return true;
}

// True if an index is the axis itself.
bool has_index(const SharedFactor& f, const std::string& axis) {
  return std::any_of(f.load->args.begin(), f.load->args.end(),
                     [&](const Expr& index) { return index->kind == Kind::Var && index->name == axis; });
}

// The axis of the sum along which groups are multiplied: an index of both factors, the longest; null if there is none.
const te::Axis* axis_of_groups(const WarpTiles& s) {
  const te::Axis* found = nullptr;
  for (const te::Axis& k : s.sum->reduce_axes)
    if (scalar::is_int(k.extent) && has_index(s.left, k.var->name) && has_index(s.right, k.var->name) &&
        (!found || k.extent->ivalue > found->extent->ivalue))
      found = &k;
  return found;
}

// False if no instruction of the target computes the stage.
bool find_factors(const ScheduleDraft& draft, WarpTiles& s) {
  const te::TensorNode& sum = *s.sum;
  if (sum.body->kind != Kind::Binary || sum.body->binary != scalar::BinaryOp::Mul) return false;
  s.left = widened_load(sum.body->args[0], sum.dtype), s.right = widened_load(sum.body->args[1], sum.dtype);
  for (const SharedFactor& f : {s.left, s.right})
    if (!f.tensor || !has_affine_indices(f)) return false;
  const te::Axis* k = axis_of_groups(s);
  if (!k || s.left.tensor == s.right.tensor) return false;
  s.k = k->var->name;
  for (const te::Axis& a : sum.reduce_axes) {
    if (!scalar::is_int(a.extent) || a.extent->ivalue < 1) return false;
    if (&a != k) s.taps *= a.extent->ivalue;
  }
  // Columns are along the axis in which the result is stored.
  const std::string last = same_axis(*s.result, storage_order(*s.result, draft.layout(s.result)).back(), sum);
  if (moves_along(s.left, last)) std::swap(s.left, s.right);
  s.rated = machine::fastest_instruction(*draft.target, s.left.tensor->dtype, s.right.tensor->dtype, sum.dtype,
                                         machine::Registers::Tile);
  if (!s.rated.instruction || s.rated.per_cycle <= 0) return false;
  const int64_t terms = k->extent->ivalue;
  s.groups = terms / s.instruction().products;
  return terms > 0 && terms % (int64_t{s.instruction().products} * s.instruction().steps) == 0;
}

// The longest axes of the rows and of the columns, and the last ones of several.
bool find_axes(WarpTiles& s) {
  for (const te::Axis& a : s.sum->axes) {
    const bool left = moves_along(s.left, a.var->name), right = moves_along(s.right, a.var->name);
    const int64_t extent = extent_or(a, usual_rows);
    s.others *= extent;
    if (left == right) continue;
    WarpAxis& of = left ? s.rows : s.columns;
    if (of.name.empty() || extent >= of.extent) of.name = a.var->name, of.extent = extent;
  }
  if (s.rows.name.empty() || s.columns.name.empty()) return false;
  s.others /= s.rows.extent * s.columns.extent;
  for (const Expr& index : s.left.load->args)
    s.stride = std::max(s.stride, coefficient(index, s.rows.name).value_or(0));
  return has_index(s.right, s.columns.name);
}

int64_t shared_bytes_of(const WarpTiles& s) {
  constexpr int64_t gap = 16;   // bytes behind a row (nest/nest_storage.cpp)
  constexpr int64_t group = 4;  // bytes
  return s.stages * (s.step * group + gap) * (s.rows.block() * s.stride + s.columns.block());
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
               terms = static_cast<double>(s.taps * s.groups * s.instruction().products),
               warps = static_cast<double>(s.warps()), warp = gpu.warp;
  const double products = rows * columns * terms / s.rated.multiply_adds_per_cycle();
  // A warp reads 32 groups of a factor in a cycle.
  const double reads = warps * static_cast<double>((s.rows.each + s.columns.each) * s.taps * s.groups) / warp;
  // Instructions of warps; for a copied number or, if copies are asynchronous, for as many as are copied at once.
  constexpr double instructions_per_cycle = 4, of_a_copy = 8, longest_copy = 16;  // bytes
  const double at_once_copied = s.stages > 1 ? longest_copy / s.left.tensor->dtype.bytes() : 1;
  const double copies = (rows * static_cast<double>(s.stride) + columns) * terms / at_once_copied / warp * of_a_copy /
                        instructions_per_cycle;
  constexpr double wait_cycles = 600, barrier_cycles = 40;  // for the device's memory
  const double steps = static_cast<double>(s.taps * s.groups) / static_cast<double>(s.step);
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
  while (s.step > i.steps && (s.groups % s.step != 0 || s.groups / s.step < stages)) s.step /= 2;
  s.stages = stages;
  if (stages > 1 && s.groups / s.step < stages) return false;
  constexpr int64_t most_registers = 200;  // of 255, without spills
  const BlockFigures& gpu = target.blocks;
  return s.step % i.steps == 0 && s.warps() * gpu.warp <= gpu.threads && registers_of(s, gpu.warp) <= most_registers &&
         shared_bytes_of(s) <= gpu.shared_bytes;
}

// True for constants, and for copies of inputs that are stored in front of the product and not scheduled yet.
bool may_choose_order(const ScheduleDraft& draft, const te::Tensor& array) {
  if (draft.constants.count(array->name) > 0) return true;
  const auto stage = draft.schedule.stages.find(array->name);
  return stage != draft.schedule.stages.end() && stage->second.place == Place::Root && stage->second.loops.empty() &&
         array->combiner == te::Combiner::None && !array->is_program() && !draft.group.is_output(array) &&
         !draft.layout(array).has_halo();
}

// The dimension of a factor whose index is the axis of the groups.
int dim_of_groups(const WarpTiles& s, const SharedFactor& f) {
  int found = -1;
  for (size_t d = 0; d < f.load->args.size(); ++d)
    if (const Expr& index = f.load->args[d]; scalar::is_var(index) && index->name == s.k) found = static_cast<int>(d);
  return found;
}

// The numbers of a factor that are copied at once, asynchronously; 0 if the device has no such copies, or the numbers
// are not known to be aligned neighbours of an array.
int64_t copied_at_once(const ScheduleDraft& draft, const WarpTiles& s, const SharedFactor& f) {
  const int rank = static_cast<int>(f.load->args.size()), last = dim_of_groups(s, f);
  auto stage = draft.schedule.stages.find(f.tensor->name);
  te::Tensor array = f.tensor;  // with the padding around it
  if (stage != draft.schedule.stages.end() && stage->second.place == Place::Inline && stage->second.reads_halo)
    array = te::Tensor(dynamic_cast<const te::TensorNode*>(guarded(*array)->value->source.get()));
  stage = draft.schedule.stages.find(array->name);
  Layout layout = draft.layout(array);
  if (layout.dims.back().dim != last && may_choose_order(draft, array)) layout = stored_last(rank, last);
  const bool is_array =
      array->is_placeholder() || (stage != draft.schedule.stages.end() && stage->second.place == Place::Root);
  const Expr row = scalar::simplify(layout.physical_shape(array->shape).back());
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
        number_of_step(scalar::load(copy, indices), *find_axis(*s.sum, s.k), step, s.instruction().products, i));
  StageSchedule& filled = draft.schedule.stages[copy->name];
  filled.place = Place::At, filled.consumer = s.sum->name;
  filled.level = static_cast<int>(s.sum->reduce_axes.size());  // in all loops over the sum but the last
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
  for (const SharedFactor& f : {s.left, s.right})
    if (const int last = dim_of_groups(s, f); draft.layout(f.tensor).dims.back().dim != last &&
                                              !f.tensor->is_placeholder() && may_choose_order(draft, f.tensor))
      draft.layouts[f.tensor->name] = stored_last(static_cast<int>(f.load->args.size()), last);
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
  for (const te::Axis& a : s.sum->reduce_axes)
    if (a.var->name != s.k) sum.loops.push_back({a.var->name, 1});
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
  for (te::Axis& a : dots.reduce_axes)
    if (a.var->name == s.k) a = {step, scalar::imm(s.groups)};
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
