// Stages placed in the loops of others: the part computed at each point, and its buffer.
#include <algorithm>
#include <bit>

#include "relay/lower/nest/nest_builder.h"

namespace relay::lower {

using scalar::imm;

static int64_t round_up(int64_t v, int64_t to) { return (v + to - 1) / to * to; }

std::string KernelBuilder::ring_at(const te::Tensor& stage, size_t level) const {
  for (const te::Tensor& t : placement_.placed_in(*stage))
    if (of(*t).level == static_cast<int>(level) && !of(*t).ring.empty()) return of(*t).ring;
  return "";
}

loop::Stmt KernelBuilder::with_placed(const te::Tensor& stage, size_t level, const Ranges& ranges,
                                      function_ref<loop::Stmt()> rest) {
  // Rings opened here: stages that slide in the next loop keep their buffer across its iterations.
  std::vector<loop::BufferRef> rings;
  for (const te::Tensor& t : placement_.placed_in(*stage)) {
    if (of(*t).level != static_cast<int>(level) + 1 || of(*t).ring.empty()) continue;
    for (loop::BufferRef& b : open_ring(t, stage, level, ranges)) rings.push_back(std::move(b));
  }
  loop::Stmts before;
  if (!of(*stage).prefetch_tile.empty()) before = prefetch_tiles(stage, level, ranges);
  std::vector<loop::BufferRef> buffers;
  te::Tensors filled;  // shared arrays since the last barrier
  auto wait = [&] {
    if (injected_bug_ != Mutation::LoseBarrier) before.push_back(loop::barrier());
    filled.clear();
  };
  for (const te::Tensor& t : placement_.placed_in(*stage)) {
    if (of(*t).level != static_cast<int>(level) || ahead_.count(t.get())) continue;
    if (stages_of(of(*t)) > 1)
      refuse("place it in a serial loop, or leave out ':async'",
             "stage '{}' holds {} steps of a loop, and is not placed in one of '{}'", t->name, stages_of(of(*t)),
             stage->name);
    if (lane_)
      refuse("place it before the vector loop",
             "stage '{}' is placed inside the vector loop of '{}': each lane would compute it", t->name, stage->name);
    const bool is_shared = of(*t).storage == Storage::Shared;
    // In a loop, other threads may still read what the array held before.
    if (is_shared && filled.empty() && open_.size() > outside_threads_) wait();
    const te::Tensors& loads = bodies_.loads_of(*t);
    if (!filled.empty() && (!is_shared || std::any_of(loads.begin(), loads.end(), [&](const te::Tensor& in) {
          return std::find(filled.begin(), filled.end(), in) != filled.end();
        })))
      wait();
    if (is_shared) filled.push_back(t);
    if (of(*t).storage == Storage::Array)
      place_in_array(t, stage, level, ranges, before);
    else if (of(*t).ring.empty())
      for (loop::BufferRef& b : place(t, stage, level, ranges, before)) buffers.push_back(std::move(b));
    else
      slide(t, stage, level, ranges, before);
  }
  if (!filled.empty()) wait();
  before.push_back(rest());
  loop::Stmt body = loop::block(std::move(before));
  for (size_t i = buffers.size(); i-- > 0;) body = loop::alloc(buffers[i], body);
  for (size_t i = rings.size(); i-- > 0;) body = loop::alloc(rings[i], body);
  return body;
}

// The dimension along which the loops of a stage have a vector or a tile, -1 for none, and the steps of that one.
static std::pair<int, int64_t> vector_of(const StageSchedule& s, const TensorNode& t) {
  int dim = -1;
  int64_t steps = 1;
  for (size_t i = 0; i < s.loops.size(); ++i) {
    const Loop& l = s.loops[i];
    if (l.kind != LoopKind::Vector && l.kind != LoopKind::Tile) continue;
    for (size_t d = 0; d < t.axes.size(); ++d)
      if (t.axes[d].var->name == l.axis) dim = static_cast<int>(d);
    for (size_t around = 0; around < i; ++around)
      if (s.loops[around].axis == l.axis) steps = s.loops[around].step / l.step;
  }
  return {dim, steps};
}

KernelBuilder::Buffers KernelBuilder::new_buffers(const te::Tensor& t, const Region& region, Local& local, int ring_dim,
                                                  int64_t ring_size) {
  const StageSchedule& s = of(*t);
  loop::Buffer b;
  b.name = t->name, b.dtype = t->dtype;
  b.scope = s.storage == Storage::Registers ? loop::Scope::Register
            : s.storage == Storage::Stack   ? loop::Scope::Stack
            : s.storage == Storage::Tiles   ? loop::Scope::Tile
            : s.storage == Storage::Shared  ? loop::Scope::Shared
                                            : loop::Scope::Scratch;
  const auto [vector_dim, steps] = vector_of(s, *t);
  for (size_t d = 0; d < t->axes.size(); ++d)
    if (static_cast<int>(d) != vector_dim) local.order.push_back(static_cast<int>(d));
  if (vector_dim >= 0) local.order.push_back(vector_dim);
  int narrowest = t->dtype.bytes();
  for (DType value : t->value_types) narrowest = std::min(narrowest, value.bytes());
  const int64_t lanes = std::max<int64_t>(steps, target_.vector_bytes / std::max(1, narrowest));
  for (int d : local.order) {
    Expr extent = d == ring_dim ? imm(ring_size) : region.dims[d].extent;
    // Its upper bound.
    if (std::optional<int64_t> most = scalar::interval(extent, bounds_).max; most && *most <= int64_t{1} << 24)
      extent = imm(std::max<int64_t>(*most, 0));
    if (!scalar::is_int(extent))
      refuse("place it at the root, or inside a loop that leaves a constant extent",
             "local storage of stage '{}' would have the extent {} along '{}', which has no constant bound", t->name,
             scalar::str(extent), t->axes[d].var->name);
    b.shape.push_back(
        d == vector_dim && s.storage != Storage::Tiles
            ? imm(round_up(extent->ivalue,
                           std::min<int64_t>(lanes, std::bit_ceil(static_cast<uint64_t>(extent->ivalue)))))
            : extent);
  }
  // Rows at distances of 1024 bytes would meet in a few sets of the L1 cache.
  constexpr int64_t row_distance = 1024;
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < b.shape.size(); ++d) rows *= b.shape[d]->ivalue;
  const bool in_caches = s.storage == Storage::Stack || s.storage == Storage::Scratch;
  if (in_caches && !b.shape.empty() && rows >= 4 && b.shape.back()->ivalue * b.dtype.bytes() % row_distance == 0)
    b.shape.back() = imm(b.shape.back()->ivalue + target_.line_bytes / b.dtype.bytes());
  const TensorNode* reader = s.storage == Storage::Shared ? placement_.consumer_of(*t) : nullptr;
  if (reader && is_at(*reader) && of(*reader).storage == Storage::Tiles && b.shape.size() > 1) {
    // Eight rows of four groups are read at once, which the gap puts into different banks.
    constexpr int64_t gap = 16;  // bytes
    b.shape.back() =
        imm(round_up(b.shape.back()->ivalue * b.dtype.bytes(), gap) / b.dtype.bytes() + gap / b.dtype.bytes());
  } else if (s.storage == Storage::Shared && b.shape.size() > 1 && !s.loops.empty() &&
             s.loops.back().axis != t->axes[static_cast<size_t>(local.order.back())].var->name) {
    // Neighbouring threads store to neighbouring rows: without a gap, the rows would meet in a few banks.
    constexpr int64_t gap = 4;  // elements: the rows of four are still aligned to 16 bytes
    b.shape.back() = imm(b.shape.back()->ivalue + gap);
  }
  if (stages_of(s) > 1) b.shape.insert(b.shape.begin(), imm(stages_of(s)));
  for (size_t d = 0; d < t->axes.size(); ++d) local.origin.push_back(region.dims[d].min);
  local.ring_dim = ring_dim, local.ring_size = ring_size;
  loop::BufferRef made(new loop::Buffer(std::move(b)));
  if (injected_bug_ == Mutation::AliasBuffers && made->scope != loop::Scope::Register) {
    int64_t size = 1;
    for (const Expr& e : made->shape) size *= e->ivalue;
    for (const auto& [other, other_local] : locals_) {
      int64_t other_size = 1;
      for (const Expr& e : other_local.buffer->shape) other_size *= e->ivalue;
      if (other_local.buffer->dtype == made->dtype && other_local.buffer->shape.size() == made->shape.size() &&
          other_size >= size && other != t.get() && other_local.buffer->scope == made->scope)
        made = other_local.buffer;
    }
  }
  local.buffer = made;
  Buffers all{made};
  for (size_t v = 1; v < te::count_values(*t); ++v) {
    loop::Buffer further = *made;
    further.name = format("{}_{}", t->name, v), further.dtype = t->value_types[v];
    all.push_back(loop::BufferRef(new loop::Buffer(std::move(further))));
    local.further.push_back(all.back());
  }
  return all;
}

void KernelBuilder::place_in_array(const te::Tensor& t, const te::Tensor& consumer, size_t level, const Ranges& ranges,
                                   loop::Stmts& before) {
  if (consumer != root_ || level > first_reduce_loop(*consumer))
    refuse("place it at the root", "stage '{}' is stored in the loops of '{}', which are run more than once", t->name,
           consumer->name);
  if (level < bound_prefix())
    refuse(format("{} is the outermost place", bound_prefix()),
           "stage '{}' is stored outside of the parallel loops of '{}': each task would store all of it", t->name,
           consumer->name);
  Region region;
  for (size_t d = 0; d < t->axes.size(); ++d) {
    if (t->axes.size() != consumer->axes.size() ||
        !scalar::prove_equal(t->shape[d], consumer->shape[d]).value_or(false))
      refuse("place it at the root", "stage '{}' is stored in the loops of '{}', which has another shape", t->name,
             consumer->name);
    region.dims.push_back(ranges.at(consumer->axes[d].var.get()));
  }
  // Readers here read the stored elements.
  if (const std::optional<Region> read = regions_.required_inside(t, consumer, level, ranges))
    for (size_t d = 0; d < region.dims.size(); ++d) {
      const Range &has = region.dims[d], &needs = read->dims[d];
      const bool is_all = !has.limit && scalar::prove_equal(has.min, imm(0), bounds_).value_or(false) &&
                          scalar::prove_equal(has.extent, t->shape[d], bounds_).value_or(false);
      if (is_all) continue;  // guards keep readers from the rest
      const Expr end = has.limit ? has.limit : has.min + has.extent,
                 last = needs.limit ? needs.limit : needs.min + needs.extent;
      if (needs.guarded || !scalar::prove(scalar::le(has.min, needs.min), bounds_).value_or(false) ||
          !scalar::prove(scalar::le(last, end), bounds_).value_or(false))
        refuse("place it at the root", "'{}' is read in the loops of '{}' where it is not stored yet", t->name,
               consumer->name);
    }
  const Ranges stored = regions_.region_ranges(t, region);
  before.push_back(loops(t, 0, stored));
}

KernelBuilder::Buffers KernelBuilder::place(const te::Tensor& t, const te::Tensor& consumer, size_t level,
                                            const Ranges& ranges, loop::Stmts& before) {
  Region region = regions_.required(t, consumer, level, ranges);
  if (of(*t).storage == Storage::Shared) region = of_all_threads(t, std::move(region));
  if (injected_bug_ == Mutation::RegionShort && of(*t).storage != Storage::Registers)
    for (Range& r : region.dims)
      if (scalar::is_int(r.extent) && r.extent->ivalue > 1) {
        Local full;
        Buffers buffers = new_buffers(t, region, full, -1, 0);
        r.extent = imm(r.extent->ivalue - 1);
        locals_[t.get()] = full;
        before.push_back(loops(t, 0, regions_.region_ranges(t, region)));
        return buffers;
      }
  Local local;
  Buffers buffers = new_buffers(t, region, local, -1, 0);
  locals_[t.get()] = local;
  Ranges needed = regions_.region_ranges(t, region);
  bool nothing = std::any_of(t->axes.begin(), t->axes.end(), [&](const te::Axis& a) {
    return scalar::is_int(needed.at(a.var.get()).extent, 0);  // its reader's guard excludes all of it
  });
  if (!nothing) before.push_back(of(*t).storage == Storage::Shared ? fill(t, needed) : loops(t, 0, needed));
  return buffers;
}

int KernelBuilder::ring_dim_of(const te::Tensor& t) const {
  for (size_t d = 0; d < t->axes.size(); ++d)
    if (t->axes[d].var->name == of(*t).ring) return static_cast<int>(d);
  refuse("", "stage '{}' has a ring along '{}', which is not one of its axes", t->name, of(*t).ring);
}

KernelBuilder::Buffers KernelBuilder::open_ring(const te::Tensor& t, const te::Tensor& consumer, size_t level,
                                                const Ranges& ranges) {
  const StageSchedule& s = of(*consumer);
  if (level >= s.loops.size() || (s.loops[level].kind != LoopKind::Serial && s.loops[level].kind != LoopKind::Peeled))
    refuse("let the ring follow a serial loop", "stage '{}' slides in loop {} of '{}', which is not serial", t->name,
           level, consumer->name);
  const te::Axis* axis = find_axis(*consumer, s.loops[level].axis);
  Ranges one = ranges;
  const Range all = regions_.left_of(*axis, *consumer, ranges);
  if (t->before && !(scalar::is_int(all.min, 0) && scalar::prove_equal(all.extent, axis->extent).value_or(false)))
    refuse("place it in a loop over all its steps",
           "stage '{}' is a scan, and loop {} of '{}' does not walk over its steps", t->name, level, consumer->name);
  const Expr first = scalar::var("first");
  bounds_.set_range(first, all.min, all.extent);
  one[axis->var.get()].extent = imm(s.loops[level].step);
  one[axis->var.get()].min = first;
  Region region = regions_.required(t, consumer, level + 1, one);
  int d = ring_dim_of(t);
  for (const Loop& l : of(*t).loops)
    if (l.kind == LoopKind::Vector && l.axis == of(*t).ring)
      refuse("run the lanes along another axis, or place it without a ring",
             "stage '{}' has a ring along '{}', and its lanes run along it too: they would wrap around the ring",
             t->name, l.axis);
  if (!scalar::is_int(region.dims[d].extent))
    refuse("place it at the root", "the ring of stage '{}' would have {} rows, which is not a constant", t->name,
           scalar::str(region.dims[d].extent));
  int64_t size = region.dims[d].extent->ivalue;
  if (injected_bug_ == Mutation::RingShort && size > 1) --size;
  Local local;
  Buffers buffers = new_buffers(t, region, local, d, size);
  local.loops_around = open_.size();
  locals_[t.get()] = local;
  return buffers;
}

void KernelBuilder::slide(const te::Tensor& t, const te::Tensor& consumer, size_t level, const Ranges& ranges,
                          loop::Stmts& before) {
  if (!locals_.count(t.get()))
    refuse("", "stage '{}' folds, but loop {} of '{}' has no iterations to slide over", t->name, level, consumer->name);
  Region region = regions_.required(t, consumer, level, ranges);
  Local& local = locals_[t.get()];
  for (size_t d = 0; d < t->axes.size(); ++d)
    if (static_cast<int>(d) != local.ring_dim) local.origin[d] = region.dims[d].min;
  Range& rows = region.dims[local.ring_dim];
  if (t->before) {
    const te::Axis* step = find_axis(*consumer, of(*consumer).loops[level - 1].axis);
    const Expr now = regions_.region_ranges(t, region).at(t->axes[local.ring_dim].var.get()).min;
    if (!step || !scalar::prove_equal(now, ranges.at(step->var.get()).min, bounds_).value_or(false))
      refuse("place it in a loop over its steps, one by one",
             "stage '{}' is a scan, and '{}' does not walk over its steps", t->name, consumer->name);
  }
  // A loop of one iteration is not emitted, and the ring is empty in each iteration of the loops around it.
  if (!t->before && open_.size() > local.loops_around && depends_on(rows.min, open_.back())) {
    Expr v = open_.back();
    Expr before_min = scalar::substitute(rows.min, {{v, v - 1}});
    if (!scalar::prove(scalar::le(before_min, rows.min), bounds_).value_or(false))
      refuse("place it without a ring", "stage '{}' has a ring along '{}', but '{}' does not walk forwards over it",
             t->name, of(*t).ring, consumer->name);
    Expr end = rows.min + rows.extent;
    Expr previous_end = scalar::simplify(scalar::substitute(end, {{v, v - 1}}), bounds_);
    Expr begin =
        scalar::select(scalar::eq(v, imm(0)), rows.min, scalar::simplify(scalar::max(rows.min, previous_end), bounds_));
    rows = {begin, scalar::simplify(end - begin, bounds_), rows.limit, rows.guarded};
  }
  before.push_back(loops(t, 0, regions_.region_ranges(t, region)));
}

}  // namespace relay::lower
