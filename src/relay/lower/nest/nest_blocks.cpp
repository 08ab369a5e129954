// Blocks of threads: the loops that they run, and shared arrays that they fill together.
#include <algorithm>

#include "relay/loop/blocks.h"
#include "relay/loop/warp_tiles.h"
#include "relay/lower/nest/nest_builder.h"

namespace relay::lower {

using scalar::floordiv;
using scalar::floormod;
using scalar::imm;
using scalar::lt;

static bool is_thread(const Loop& l) { return l.kind == LoopKind::Thread; }

size_t KernelBuilder::block_prefix() const {
  const std::vector<Loop>& l = of(*root_).loops;
  auto is_block = [](const Loop& loop) { return loop.kind == LoopKind::Parallel || loop.kind == LoopKind::Block; };
  return static_cast<size_t>(std::find_if_not(l.begin(), l.end(), is_block) - l.begin());
}

size_t KernelBuilder::bound_prefix() const {
  const std::vector<Loop>& l = of(*root_).loops;
  for (size_t level = l.size(); level > block_prefix(); --level)
    if (is_thread(l[level - 1])) return level;
  return block_prefix();
}

loop::Stmt KernelBuilder::block_loop(const te::Tensor& stage, size_t level, const Range& range, const Loop& l,
                                     Inside with) {
  const std::vector<Loop>& all = of(*stage).loops;
  const bool first = std::all_of(all.begin(), all.begin() + static_cast<int64_t>(level), [](const Loop& before) {
    return before.kind == LoopKind::Parallel || before.kind == LoopKind::Block;
  });
  if (stage != root_ || !first)
    refuse("put loops over blocks first, behind parallel ones, at a root stage",
           "loop {} of stage '{}' is over blocks, but other loops are before it", l.axis, stage->name);
  if (is_reduce_axis(*stage, l.axis))
    refuse("make it serial, or split the reduction into partial results",
           "loop {} of stage '{}' is over blocks and a reduction axis: the blocks would race on the same results",
           l.axis, stage->name);
  if (range.limit)
    refuse("give the outer loop a step that the inner one divides",
           "two loops of stage '{}' over axis '{}' are over blocks, and the outer one does not divide it", stage->name,
           l.axis);
  const Expr count = scalar::simplify(floordiv(range.extent + (l.step - 1), l.step), bounds_);
  const bool divides = scalar::is_int(scalar::simplify(floormod(range.extent, l.step)), 0);
  Expr var = scalar::var(fresh(l.axis + "_block"));
  bounds_.set_range(var, imm(0), count);
  const Expr limit = divides ? Expr{} : scalar::simplify(range.min + range.extent, bounds_);
  return loop::for_(var, imm(0), count, loop::ForKind::Block,
                    in_loop(var, [&] { return with({range.min + var * l.step, imm(l.step), limit}); }));
}

bool KernelBuilder::has_tiles(const TensorNode& stage) const {
  const te::Tensors& placed = placement_.placed_in(stage);
  return std::any_of(placed.begin(), placed.end(),
                     [&](const te::Tensor& t) { return of(*t).storage == Storage::Tiles || has_tiles(*t); });
}

loop::Stmt KernelBuilder::in_threads(function_ref<loop::Stmt()> body) {
  const std::vector<Loop>& all = of(*root_).loops;
  for (size_t level = 0; level < all.size(); ++level) {
    const Loop& l = all[level];
    if (!is_thread(l)) continue;
    if (is_reduce_axis(*root_, l.axis))
      refuse("make it serial, or split the reduction into partial results",
             "loop {} of stage '{}' is over threads and a reduction axis: they would race on the same results", l.axis,
             root_->name);
    // The elements that the loop before it on the axis leaves.
    Expr left = find_axis(*root_, l.axis)->extent;
    for (size_t before = 0; before < level; ++before)
      if (all[before].axis == l.axis) left = imm(all[before].step);
    left = scalar::simplify(left);
    if (!scalar::is_int(left) || left->ivalue % l.step != 0)
      refuse("split the axis by a loop over blocks first, with a multiple of its step",
             "loop {}/{} of stage '{}' is over threads, and does not divide the extent {}", l.axis, l.step, root_->name,
             scalar::str(left));
    const int64_t count = left->ivalue / l.step;
    if (count < 1 || count > loop::most_threads)
      refuse("split the axis by a loop over blocks first", "loop {}/{} of stage '{}' has {} threads", l.axis, l.step,
             root_->name, count);
    Expr var = scalar::var(fresh(l.axis + "_thread"));
    bounds_.set(var, 0, count);
    threads_.push_back({var, count, level});
    open_.push_back(var);
  }
  if (!threads_.empty() && has_tiles(*root_)) {
    if (target_.instructions.empty() || target_.blocks.warp != loop::warp_lanes)
      refuse("choose a target with such instructions, such as cuda:sm_80",
             "a stage in the loops of '{}' over threads is in tiles, which {} does not multiply", root_->name,
             target_.name);
    // Each of these iterations is a warp.
    Expr lane = scalar::var(fresh("lane"));
    bounds_.set(lane, 0, loop::warp_lanes);
    threads_.push_back({lane, loop::warp_lanes, all.size()});
    open_.push_back(lane);
  }
  outside_threads_ = open_.size();
  const std::vector<Threads> opened = threads_;
  loop::Stmt inside = body();
  for (size_t i = opened.size(); i-- > 0;) {
    inside = loop::for_(opened[i].var, imm(0), imm(opened[i].count), loop::ForKind::Thread, inside);
    open_.pop_back();
  }
  threads_.clear();
  return inside;
}

loop::Stmt KernelBuilder::thread_loop(const te::Tensor& stage, size_t level, const Range& range, const Loop& l,
                                      Inside with) {
  const auto found = std::find_if(threads_.begin(), threads_.end(), [&](const Threads& t) { return t.level == level; });
  if (stage != root_ || found == threads_.end())
    refuse("put it into a root stage, or first into a stage that is shared",
           "loop {} of stage '{}' is over threads, and the stage is neither", l.axis, stage->name);
  if (!scalar::is_int(range.extent, found->count * l.step))
    refuse("split the axis by a loop over blocks first, with a multiple of its step",
           "loop {}/{} of stage '{}' is over {} threads, and the extent is {}", l.axis, l.step, stage->name,
           found->count, scalar::str(range.extent));
  return with({range.min + found->var * l.step, imm(l.step), range.limit});
}

bool KernelBuilder::is_for_threads(const TensorNode& stage, size_t level) const {
  const std::vector<Loop>& l = of(stage).loops;
  return &stage == root_.get() &&
         std::any_of(l.begin() + static_cast<int64_t>(level) + 1, l.end(),
                     [&](const Loop& later) { return later.axis == l[level].axis && is_thread(later); });
}

loop::Stmt KernelBuilder::strided_loop(const Loop& l, const Range& range, Inside with) {
  const bool divides = scalar::is_int(scalar::simplify(floormod(range.extent, l.step)), 0);
  if (l.kind != LoopKind::Serial || (range.limit && !divides))
    refuse("make it serial, with a step that divides that of the loop before it",
           "the steps of loop {}/{} are divided among threads", l.axis, l.step);
  const Expr count = scalar::simplify(floordiv(range.extent + (l.step - 1), l.step), bounds_),
             limit = divides ? range.limit : scalar::simplify(range.min + range.extent, bounds_);
  if (scalar::is_int(count, 1)) return with({range.min, imm(l.step), limit});
  Expr var = scalar::var(fresh(l.axis));
  bounds_.set_range(var, imm(0), count);
  return loop::for_(var, imm(0), count, loop::ForKind::Serial,
                    in_loop(var, [&] { return with({range.min + var * l.step, imm(l.step), limit}); }));
}

Expr KernelBuilder::thread_number() const {
  Expr number = imm(0);
  for (const Threads& t : threads_) number = number * t.count + t.var;
  return scalar::simplify(number, bounds_);
}

int64_t KernelBuilder::threads() const {
  int64_t all = 1;
  for (const Threads& t : threads_) all *= t.count;
  return all;
}

Region KernelBuilder::of_all_threads(const te::Tensor& t, Region region) const {
  Exprs vars;
  for (const Threads& t : threads_) vars.push_back(t.var);
  auto varies = [&](const Expr& e) {
    return std::any_of(vars.begin(), vars.end(), [&](const Expr& v) { return depends_on(e, v); });
  };
  for (size_t d = 0; d < region.dims.size(); ++d) {
    Range& dim = region.dims[d];
    const std::optional<scalar::Affine> min = scalar::as_affine(dim.min, vars);
    if (!min || varies(min->rest) || varies(dim.extent))
      refuse("store it on the stack, or at the root",
             "stage '{}' is shared by threads that need parts of it which do not lie at equal distances along '{}'",
             t->name, t->axes[d].var->name);
    Expr first = min->rest;
    int64_t more = 0;
    for (size_t v = 0; v < vars.size(); ++v) {
      const int64_t way = min->coefficients[v] * (threads_[v].count - 1);
      if (way < 0) first = first + way;
      more += std::abs(way);
    }
    dim.min = scalar::simplify(first, bounds_);
    dim.extent = scalar::simplify(dim.extent + more, bounds_);
  }
  return region;
}

loop::Stmt KernelBuilder::fill(const te::Tensor& stage, const Ranges& ranges) {
  if (threads_.empty())
    refuse("place it inside of all loops over threads",
           "stage '{}' is shared by the threads of a block, and is computed outside of the loops over them",
           stage->name);
  if (filling_)
    refuse("place it outside of them",
           "stage '{}' is shared, and is computed inside of loops in which each thread has another element",
           stage->name);
  for (const te::Tensor& in : bodies_.loads_of(*stage)) {
    const auto local = locals_.find(in.get());
    if (local != locals_.end() && of(*in).consumer != stage->name && local->second.buffer->scope != loop::Scope::Shared)
      refuse(format("store '{}' in shared memory, or '{}' on the stack", in->name, stage->name),
             "stage '{}' is shared and filled by all threads, and reads '{}', of which each has its own part",
             stage->name, in->name);
  }
  const std::vector<Loop>& all = of(*stage).loops;
  size_t count = 0;
  Exprs extents;
  Ranges inner = ranges;
  for (; count < all.size() && all[count].kind == LoopKind::Thread; ++count) {
    const te::Axis* axis = find_axis(*stage, all[count].axis);
    const Expr left = regions_.left_of(*axis, *stage, ranges).extent;
    const bool divides = scalar::is_int(scalar::simplify(floormod(left, all[count].step), bounds_), 0);
    if (!divides || is_reduce_axis(*stage, all[count].axis))
      refuse("give it the step 1, and an axis that is not summed over",
             "loop {}/{} of stage '{}' is over threads, and {} elements are left", all[count].axis, all[count].step,
             stage->name, scalar::str(left));
    extents.push_back(scalar::simplify(floordiv(left, all[count].step), bounds_));
  }
  if (count == 0)
    refuse("write ':thread' on its first loops", "stage '{}' is shared, and all threads would store all of it",
           stage->name);
  Expr elements = imm(1);
  for (const Expr& e : extents) elements = scalar::simplify(elements * e, bounds_);
  const Expr turn = scalar::var(fresh(stage->name + "_turn")), number = scalar::var(fresh(stage->name + "_element"));
  const Expr turns = scalar::simplify(floordiv(elements + (threads() - 1), threads()), bounds_);
  bounds_.set_range(turn, imm(0), turns);
  bounds_.set_range(number, imm(0), elements);
  Exprs digits;
  for (size_t i = 0; i < count; ++i) {
    const Range left = regions_.left_of(*find_axis(*stage, all[i].axis), *stage, ranges);
    digits.push_back(scalar::var(fresh(all[i].axis)));
    bounds_.set_range(digits[i], imm(0), extents[i]);
    inner[find_axis(*stage, all[i].axis)->var.get()] = {scalar::simplify(left.min + digits[i] * all[i].step, bounds_),
                                                        imm(all[i].step), left.limit};
  }
  filling_ = true;
  loop::Stmt body = loops(stage, count, inner);
  filling_ = false;
  Expr inside = imm(1);
  for (size_t i = count; i-- > 0;) {
    Expr value = floordiv(number, inside);
    if (i > 0) value = floormod(value, extents[i]);
    body = loop::let(digits[i], scalar::simplify(value, bounds_), body);
    inside = scalar::simplify(inside * extents[i], bounds_);
  }
  // Neighbouring threads fill neighbouring elements.
  const Expr at = turn * threads() + thread_number();
  if (!scalar::is_int(scalar::simplify(floormod(elements, threads()), bounds_), 0))
    body = loop::if_(lt(number, elements), body);
  return loop::for_(turn, imm(0), turns, loop::ForKind::Serial, loop::let(number, at, body));
}

bool KernelBuilder::may_pass_limits(const TensorNode& stage, const Ranges& ranges) const {
  if (!is_at(stage)) return false;
  const bool on_cpu = threads_.empty();
  const StageSchedule& s = of(stage);
  const bool is_part_of_tile = s.storage == Storage::Registers ||
                               (on_cpu ? s.storage == Storage::Stack && s.ring.empty() : s.storage == Storage::Tiles);
  if (!is_part_of_tile || (on_cpu && te::has_several_values(stage))) return false;
  const Local& local = locals_.at(&stage);
  for (size_t i = 0; on_cpu && i < local.order.size(); ++i) {  // the tile is a part of an array with more rows
    const size_t d = static_cast<size_t>(local.order[i]);
    const Range& r = ranges.at(stage.axes[d].var.get());
    if (r.limit &&
        !scalar::prove(scalar::lt(scalar::simplify(r.min - local.origin[d], bounds_), local.buffer->shape[i]), bounds_)
             .value_or(false))
      return false;
  }
  const te::Tensors& loads = bodies_.loads_of(stage);
  return std::all_of(loads.begin(), loads.end(), [&](const te::Tensor& t) {
    const Exprs& of_t = bodies_.loads(stage, *t);
    // An index that is read might be anything there.
    const bool is_read = std::any_of(of_t.begin(), of_t.end(), [](const Expr& load) {
      bool found = false;
      for (const Expr& index : load->args)
        scalar::visit(index, [&](const Expr& e) { found |= e->kind == scalar::Kind::Load; });
      return found;
    });
    return (on_cpu || locals_.count(t.get()) > 0) && !is_read;
  });
}

void KernelBuilder::check_blocks(const loop::Kernel& kernel) const {
  const int64_t shared = loop::shared_bytes(kernel);
  if (!loop::has_blocks(kernel) && shared == 0) return;
  const BlockFigures& most = target_.blocks;
  if (most.threads == 0)
    refuse("choose a target with blocks of threads, such as cuda:sm_80, or make the loops parallel",
           "stage '{}' has loops over blocks or threads, and the target {} has none", root_->name, target_.name);
  const int64_t has = loop::threads_of(kernel);
  if (has > most.threads || shared > most.shared_bytes)
    refuse("make the tiles of the block smaller",
           "a block of stage '{}' has {} threads and {} bytes of shared memory; {} allows {} and {}", root_->name, has,
           shared, target_.name, most.threads, most.shared_bytes);
}

}  // namespace relay::lower
