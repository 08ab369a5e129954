// Kinds of loops: whole tiles and tails, known and symbolic extents, tasks, lanes.
#include <algorithm>
#include <bit>
#include <utility>

#include "relay/lower/nest/nest_builder.h"
#include "relay/lower/schedule/nonzero.h"
#include "relay/scalar/linear.h"

namespace relay::lower {

using scalar::Binding;
using scalar::floordiv;
using scalar::floormod;
using scalar::imm;
using scalar::lt;

loop::Stmt KernelBuilder::loops(const te::Tensor& stage, size_t level, const Ranges& ranges) {
  auto all = [&] {
    return with_placed(stage, level, ranges, [&] { return loops_after_placed(stage, level, ranges); });
  };
  return stage == root_ && level == block_prefix() ? in_threads(all) : all();
}

size_t KernelBuilder::first_reduce_loop(const TensorNode& stage) const {
  const std::vector<Loop>& l = of(stage).loops;
  for (size_t i = 0; i < l.size(); ++i)
    if (is_reduce_axis(stage, l[i].axis)) return i;
  return l.size();
}

loop::Stmt KernelBuilder::loops_after_placed(const te::Tensor& stage, size_t level, const Ranges& ranges) {
  bool reduces = stage->combiner != te::Combiner::None;
  if (reduces && level == first_reduce_loop(*stage)) {
    loop::Stmt init = one_loop(stage, level, ranges, /*init=*/true);
    return loop::block({init, one_loop(stage, level, ranges, false)});
  }
  return one_loop(stage, level, ranges, false);
}

loop::Stmt KernelBuilder::one_loop(const te::Tensor& stage, size_t level, const Ranges& ranges, bool init) {
  const StageSchedule& s = of(*stage);
  if (level == s.loops.size()) return element(stage, ranges, init);
  const Loop& l = s.loops[level];
  if (lane_)
    refuse("write the vector loop last", "loop {}/{} of stage '{}' is inside a vector loop", l.axis, l.step,
           stage->name);
  const te::Axis* axis = find_axis(*stage, l.axis);
  if (!axis) refuse("--emit te shows the axes of the stage", "stage '{}' has no axis '{}'", stage->name, l.axis);
  bool reduce = is_reduce_axis(*stage, l.axis);
  auto inside = [&](const Ranges& r) {
    if (init) return one_loop(stage, level + 1, r, true);
    loop::Stmts parts;
    for (const Prefetch& a : s.prefetch)
      if (fetching_loop(stage, a) == level)
        for (loop::Stmt& line : prefetches(stage, a, r)) parts.push_back(std::move(line));
    parts.push_back(loops(stage, level + 1, r));
    return loop::block(std::move(parts));
  };
  if (init && reduce) return one_loop(stage, level + 1, ranges, true);

  Range range = regions_.left_of(*axis, *stage, ranges);
  auto with = [&](const Range& part) {
    Ranges inner = ranges;
    inner[axis->var.get()] = {scalar::simplify(part.min, bounds_), part.extent, part.limit};
    return inside(inner);
  };
  if (l.kind == LoopKind::Async) return async_copy(stage, l, ranges);
  if (!init && !filled_ahead(stage, level + 1).empty()) return pipelined_loop(stage, level, range, ranges, with);
  if (l.kind == LoopKind::Vector) return vector_loop(stage, l, range, with);
  if (l.kind == LoopKind::Parallel) return parallel_loop(stage, level, range, l, with);
  if (l.kind == LoopKind::Peeled && !scalar::is_int(range.extent, 1)) return peeled_loop(l, range, with);
  if (l.kind == LoopKind::SkipPadding) return skip_padding_loop(stage, *axis, l, range, ranges, with);
  if (l.kind == LoopKind::Tile) return tile_loop(stage, l, range, with);
  if (l.kind == LoopKind::Block) return block_loop(stage, level, range, l, with);
  if (l.kind == LoopKind::Thread) return thread_loop(stage, level, range, l, with);
  if (is_for_threads(*stage, level)) return strided_loop(l, range, with);
  if (!scalar::is_int(range.extent)) return symbolic_loop(stage, l, level, range, with);

  int64_t extent = range.extent->ivalue, full = extent / l.step, tail = extent % l.step;
  if (reduce && injected_bug_ == Mutation::WrongKTail) tail = 0;
  loop::Stmts out;
  if (full == 1)
    out.push_back(with({range.min, imm(l.step), range.limit}));
  else if (full > 1) {
    Expr var = scalar::var(fresh(l.axis));
    bounds_.set(var, 0, full);
    out.push_back(loop::for_(var, imm(0), imm(full),
                             l.kind == LoopKind::Unroll ? loop::ForKind::Unrolled : loop::ForKind::Serial,
                             in_loop(var, [&] { return with({range.min + var * l.step, imm(l.step), range.limit}); })));
  }
  if (tail) {
    if (!ring_at(stage, level + 1).empty() && full)
      refuse("give the loop a step that divides its extent (1 always does)",
             "stage '{}' slides over '{}' in a loop whose step {} does not divide its extent {}", stage->name,
             ring_at(stage, level + 1), l.step, extent);
    out.push_back(with({range.min + full * l.step, imm(tail), range.limit}));
  }
  return loop::block(std::move(out));
}

size_t KernelBuilder::fetching_loop(const te::Tensor& stage, const Prefetch& p) const {
  const std::vector<Loop>& l = of(*stage).loops;
  size_t at = static_cast<size_t>(innermost_serial(*stage, of(*stage)));
  if (at == 0 || l[at - 1].axis != l[at].axis || l[at - 1].kind != LoopKind::Serial) return at;
  const auto layout = layouts_.find(p.array);
  if (layout == layouts_.end() || layout->second.dims.empty()) return at;
  for (const te::Tensor& t : bodies_.loads_of(*stage))
    for (const Expr& load : bodies_.loads(*stage, *t))
      if (t->name == p.array &&
          depends_on(load->args[layout->second.dims.back().dim], find_axis(*stage, l[at].axis)->var))
        return at - 1;
  return at;
}

loop::Stmts KernelBuilder::prefetches(const te::Tensor& stage, const Prefetch& p, const Ranges& ranges) {
  Ranges there = ranges;
  Range& moved = there[find_axis(*stage, p.axis)->var.get()];
  moved.min = moved.min + p.step;
  if (of(*stage).storage == Storage::Tiles) take_part(stage, p, ranges, there);
  return fetch(stage, p.array, there);
}

// The steps of tiles are few and long. Blocks of rows that read the same weights fetch a part of each step: block
// number b of 4 fetches quarter b % 4.
void KernelBuilder::take_part(const te::Tensor& stage, const Prefetch& p, const Ranges& ranges, Ranges& there) {
  constexpr int64_t most_parts = 8;  // more save nothing: a part is two lines of 16 then
  Range& step = there[find_axis(*stage, of(*stage).loops[fetching_loop(stage, p)].axis)->var.get()];
  auto is_read_along = [&](const te::Axis& a) {
    for (const te::Tensor& t : bodies_.loads_of(*stage))
      for (const Expr& load : bodies_.loads(*stage, *t))
        for (const Expr& index : load->args)
          if (t->name == p.array && depends_on(index, a.var)) return true;
    return false;
  };
  int64_t blocks = 1;
  Expr number;
  for (const te::Axis& a : stage->axes) {
    const Range& rows = ranges.at(a.var.get());
    if (!scalar::is_int(a.extent) || !scalar::is_int(rows.extent) || is_read_along(a)) continue;
    const int64_t count = (a.extent->ivalue + rows.extent->ivalue - 1) / rows.extent->ivalue;
    if (count > blocks) blocks = count, number = scalar::floordiv(rows.min, rows.extent);
  }
  if (!number || !scalar::is_int(step.extent)) return;
  int64_t parts = 1;
  while (2 * parts <= std::min(most_parts, blocks) && step.extent->ivalue % (2 * parts) == 0) parts *= 2;
  const int64_t extent = step.extent->ivalue / parts;
  step.min = scalar::simplify(step.min + scalar::floormod(number, imm(parts)) * extent, bounds_);
  step.extent = imm(extent);
}

loop::Stmts KernelBuilder::prefetch_tiles(const te::Tensor& stage, size_t level, const Ranges& ranges) {
  loop::Stmts out;
  int innermost = -1;
  for (const te::Tensor& t : placement_.placed_in(*stage)) innermost = std::max(innermost, of(*t).level);
  if (static_cast<int>(level) != innermost) return out;
  for (const std::string& name : of(*stage).prefetch_tile)
    for (loop::Stmt& line : fetch(stage, name, ranges)) out.push_back(std::move(line));
  return out;
}

loop::Stmts KernelBuilder::fetch(const te::Tensor& stage, const std::string& name, const Ranges& ranges) {
  te::Tensor tensor = name == stage->name ? stage : te::Tensor();
  for (const te::Tensor& t : bodies_.loads_of(*stage))
    if (t->name == name) tensor = t;
  if (!tensor || !params_.count(tensor.get()))
    refuse("name an array that the stage reads", "stage '{}' does not read '{}' from memory", stage->name, name);
  std::vector<Exprs> loads;
  for (const Expr& load : bodies_.loads(*stage, *tensor)) loads.push_back(load->args);
  if (tensor == stage) {
    loads = {{}};
    for (const te::Axis& a : stage->axes) loads[0].push_back(a.var);
  }
  constexpr size_t most = 64;  // a part that is larger, or of unknown size, is not prefetched
  const Layout& layout = layouts_.at(name);
  const int64_t line = std::max(1, target_.line_bytes / tensor->dtype.bytes());
  struct Point {
    Exprs indices;
    Expr place;  // in memory, in elements, without a constant
    int64_t offset = 0;
  };
  std::vector<Point> lines;
  auto add = [&](std::vector<Point>& to, Exprs indices) {  // points of one line, such as numbers of a product: once
    auto [buffer, at] = address(*tensor, indices);
    Expr place = imm(0);
    for (size_t d = 0; d < at.size(); ++d) place = scalar::simplify(place * buffer->shape[d] + at[d], bounds_);
    scalar::Linear sum = scalar::split(place);
    const int64_t offset = std::exchange(sum.constant, 0);
    place = scalar::join(sum);
    const bool known = std::any_of(to.begin(), to.end(), [&](const Point& other) {
      return std::abs(offset - other.offset) < line && scalar::equal(place, other.place);
    });
    if (!known) to.push_back({std::move(indices), std::move(place), offset});
  };
  for (const Exprs& load : loads) {
    std::vector<Point> points{{load, {}, 0}};
    for (const std::vector<te::Axis>* axes : {&stage->axes, &stage->reduce_axes})
      for (const te::Axis& a : *axes) {
        auto moves = [&](const Expr& index) { return depends_on(index, a.var); };
        if (std::none_of(load.begin(), load.end(), moves)) continue;
        const Range& r = ranges.at(a.var.get());
        if (!scalar::is_int(r.extent)) return {};
        // A point for each cache line: steps of a line along the dimension that is stored last, or of one element if
        // only the numbers of short groups are.
        const bool in_line = !layout.dims.empty() && moves(load[layout.dims.back().dim]) &&
                             !(layout.dims.back().inner && layout.dims.back().block < line);
        const int64_t step = in_line ? line : 1;
        std::vector<Point> longer;
        for (int64_t i = 0; i < r.extent->ivalue; i += step)
          for (const Point& point : points) {
            Exprs at;
            for (const Expr& index : point.indices)
              at.push_back(scalar::simplify(scalar::substitute(index, {{a.var, r.min + i}}), bounds_));
            add(longer, std::move(at));
            if (longer.size() > most) return {};
          }
        points = std::move(longer);
      }
    for (Point& point : points) add(lines, std::move(point.indices));
    if (lines.size() > most) return {};
  }
  loop::Stmts out;
  for (const Point& point : lines) {
    auto [buffer, indices] = address(*tensor, point.indices);
    out.push_back(loop::prefetch(buffer, indices));
  }
  return out;
}

loop::Stmt KernelBuilder::in_loop(const Expr& var, function_ref<loop::Stmt()> body) {
  open_.push_back(var);
  loop::Stmt s = body();
  open_.pop_back();
  return s;
}

Expr KernelBuilder::rest(const Range& range, const Expr& var, int64_t step) {
  return scalar::simplify(scalar::min(imm(step), range.extent - var * step), bounds_);
}

bool KernelBuilder::is_cut_again(const TensorNode& stage, size_t level) const {
  const std::vector<Loop>& l = of(stage).loops;
  return std::any_of(l.begin() + static_cast<int64_t>(level) + 1, l.end(), [&](const Loop& later) {
    return later.axis == l[level].axis && later.step > 1 && later.kind == LoopKind::Serial;
  });
}

loop::Stmt KernelBuilder::peeled_loop(const Loop& l, const Range& range, Inside with) {
  if (l.step != 1) refuse("give it the step 1", "loop {}/{} is peeled", l.axis, l.step);
  if (scalar::is_int(range.extent, 0)) return loop::block({});
  const Expr last = scalar::simplify(range.extent - 1);
  Expr var = scalar::var(fresh(l.axis));
  bounds_.set_range(var, imm(0), last);
  loop::Stmt others = loop::for_(var, imm(0), last, loop::ForKind::Serial,
                                 in_loop(var, [&] { return with({range.min + var, imm(1), range.limit}); }));
  if (scalar::is_int(last)) return loop::block({others, with({range.min + last, imm(1), range.limit})});
  Expr at_last = scalar::var(fresh(l.axis));
  bounds_.set_range(at_last, imm(0), range.extent);
  return loop::block({others, loop::if_(lt(imm(0), range.extent),
                                        loop::let(at_last, last, with({range.min + at_last, imm(1), range.limit})))});
}

loop::Stmt KernelBuilder::skip_padding_loop(const te::Tensor& stage, const te::Axis& axis, const Loop& l,
                                            const Range& range, const Ranges& ranges, Inside with) {
  if (l.step != 1) refuse("give it the step 1", "loop {}/{} is inside", l.axis, l.step);
  if (stage->combiner != te::Combiner::Sum || !is_reduce_axis(*stage, l.axis))
    refuse("make it serial", "loop {} of stage '{}' is inside, but is not a loop over a sum", l.axis, stage->name);
  Exprs vars{axis.var};
  std::vector<const te::Axis*> others;
  for (const std::vector<te::Axis>* axes : {&stage->axes, &stage->reduce_axes})
    for (const te::Axis& a : *axes)
      if (a.var != axis.var) vars.push_back(a.var), others.push_back(&a);
  Expr first = range.min, end = range.min + range.extent;
  for (const Expr& e : nonzero_where(*stage)) {
    std::optional<scalar::Affine> affine = scalar::as_affine(e, vars);
    if (!affine || affine->coefficients[0] == 0) continue;
    // step * axis + most >= 0, where most is the largest value of the rest.
    const int64_t step = affine->coefficients[0];
    Expr most = affine->rest;
    for (size_t v = 0; v < others.size(); ++v) {
      const int64_t c = affine->coefficients[v + 1];
      if (c == 0) continue;
      const Range r = regions_.left_of(*others[v], *stage, ranges);
      most = most + (c > 0 ? r.min + r.extent - 1 : r.min) * c;
    }
    if (step > 0)
      first = scalar::max(first, floordiv(imm(step - 1) - most, imm(step)));
    else
      end = scalar::min(end, floordiv(most, imm(-step)) + (injected_bug_ == Mutation::SkipPaddingShort ? 0 : 1));
  }
  first = scalar::simplify(first, bounds_);
  const Expr extent = scalar::simplify(scalar::max(end - first, imm(0)), bounds_);
  if (scalar::is_int(extent, 1)) return with({first, imm(1), range.limit});
  Expr var = scalar::var(fresh(l.axis));
  bounds_.set_range(var, range.min, range.extent);
  return loop::for_(var, first, extent, loop::ForKind::Serial,
                    in_loop(var, [&] { return with({var, imm(1), range.limit}); }));
}

loop::Stmt KernelBuilder::symbolic_loop(const te::Tensor& stage, const Loop& l, size_t level, const Range& range,
                                        Inside with) {
  Expr var = scalar::var(fresh(l.axis));
  bounds_.set(var, {0, std::nullopt});
  loop::ForKind serial = loop::ForKind::Serial;
  if (l.step == 1) {
    bounds_.set_range(var, imm(0), range.extent);
    return loop::for_(var, imm(0), range.extent, serial, in_loop(var, [&] { return with({range.min + var, imm(1)}); }));
  }
  if (is_cut_again(*stage, level)) {
    bounds_.set_range(var, imm(0), scalar::simplify(floordiv(range.extent + (l.step - 1), l.step)));
    return loop::for_(var, imm(0), scalar::simplify(floordiv(range.extent + (l.step - 1), l.step)), serial,
                      in_loop(var, [&] { return with({range.min + var * l.step, rest(range, var, l.step)}); }));
  }
  Expr full = scalar::simplify(floordiv(range.extent, l.step));
  loop::Stmt tiles = loop::for_(var, imm(0), full, serial,
                                in_loop(var, [&] { return with({range.min + var * l.step, imm(l.step)}); }));
  Expr tail = scalar::simplify(floormod(range.extent, l.step));
  Expr begin = range.min + full * l.step, end = scalar::simplify(range.min + range.extent, bounds_);
  if (lanes_follow(*stage, level))
    return loop::block({tiles, loop::if_(lt(imm(0), tail), with({begin, imm(l.step), end}))});
  return loop::block({tiles, partial_tile(stage, l, level, begin, tail, with)});
}

bool KernelBuilder::lanes_follow(const TensorNode& stage, size_t level) const {
  const std::vector<Loop>& l = of(stage).loops;
  return std::any_of(l.begin() + static_cast<int64_t>(level) + 1, l.end(),
                     [&](const Loop& later) { return later.axis == l[level].axis && later.kind == LoopKind::Vector; });
}

bool KernelBuilder::unrolls(const te::Tensor& stage, size_t level, const std::string& axis) const {
  const std::vector<Loop>& l = of(*stage).loops;
  for (size_t i = level; i < l.size(); ++i)
    if (l[i].axis == axis && l[i].kind == LoopKind::Unroll) return true;
  const te::Tensors& placed = placement_.placed_in(*stage);
  return std::any_of(placed.begin(), placed.end(), [&](const te::Tensor& t) {
    return of(*t).level >= static_cast<int>(level) && unrolls(t, 0, axis);
  });
}

loop::Stmt KernelBuilder::partial_tile(const te::Tensor& stage, const Loop& l, size_t level, const Expr& begin,
                                       const Expr& tail, Inside with) {
  if (scalar::is_int(tail, 0)) return loop::block({});
  const Expr step = scalar::var(fresh(l.axis));
  // A sum over rows would add the last one again, and a ring advances with each step.
  if (l.step <= 2 || stage->is_program() || is_reduce_axis(*stage, l.axis) || !ring_at(stage, level + 1).empty() ||
      !unrolls(stage, level + 1, l.axis)) {
    bounds_.set(step, {0, l.step - 1});
    return loop::for_(step, imm(0), tail, loop::ForKind::Serial,
                      in_loop(step, [&] { return with({begin + step, imm(1)}); }));
  }
  constexpr int64_t most_rows = 4;
  const int64_t rows = std::min(most_rows, l.step - 1);
  const Expr tiles = scalar::simplify(floordiv(tail + (rows - 1), rows), bounds_),
             end = scalar::simplify(begin + tail, bounds_), first = scalar::var(fresh(l.axis));
  bounds_.set(step, {0, (l.step - 1 + rows - 1) / rows});
  bounds_.set_range(first, scalar::simplify(begin, bounds_), tail);
  loop::Stmt several = loop::for_(step, imm(0), tiles, loop::ForKind::Serial, in_loop(step, [&] {
                                    return loop::let(first, scalar::simplify(begin + step * rows, bounds_),
                                                     with({first, imm(rows), end}));
                                  }));
  return loop::if_(scalar::eq(tail, imm(1)), with({begin, imm(1)}), std::move(several));
}

loop::Stmt KernelBuilder::parallel_loop(const te::Tensor& stage, size_t level, const Range& range, const Loop& l,
                                        Inside with) {
  if (stage != root_ || level >= parallel_digits_.size())
    refuse("put parallel loops first, at a root stage",
           "loop {} of stage '{}' is parallel, but other loops are before it", l.axis, stage->name);
  Expr var = parallel_digits_[level];
  if (l.step == 1) return with({range.min + var, imm(1)});
  if (scalar::is_int(range.extent)) {
    int64_t full = range.extent->ivalue / l.step, tail = range.extent->ivalue % l.step;
    if (tail == 0) return with({range.min + var * l.step, imm(l.step)});
    if (full == 0) return with({range.min, imm(tail)});
    return loop::if_(lt(var, imm(full)), with({range.min + var * l.step, imm(l.step)}),
                     with({range.min + full * l.step, imm(tail)}));
  }
  if (is_cut_again(*stage, level)) return with({range.min + var * l.step, rest(range, var, l.step)});
  Expr full = scalar::simplify(floordiv(range.extent, l.step)), begin = range.min + full * l.step;
  loop::Stmt whole = with({range.min + var * l.step, imm(l.step)});
  if (lanes_follow(*stage, level))
    return loop::if_(lt(var, full), whole,
                     with({begin, imm(l.step), scalar::simplify(range.min + range.extent, bounds_)}));
  return loop::if_(lt(var, full), whole,
                   partial_tile(stage, l, level, begin, scalar::simplify(floormod(range.extent, l.step)), with));
}

loop::Stmt KernelBuilder::vector_loop(const te::Tensor& stage, const Loop& l, const Range& range, Inside with) {
  if (is_reduce_axis(*stage, l.axis))
    refuse("split the reduction into lanes first (rfactor)", "loop {} of stage '{}' is a vector over a reduction axis",
           l.axis, stage->name);
  if (l.step != 1)
    refuse("write ':vector' on the last loop of the axis, with step 1", "vector loop {} of stage '{}' has step {}",
           l.axis, stage->name, l.step);
  if (!scalar::is_int(range.extent))
    refuse("split the axis by the number of lanes first",
           "vector loop {} of stage '{}' has the extent {}, which is not a constant", l.axis, stage->name,
           scalar::str(range.extent));
  int64_t extent = range.extent->ivalue, lanes = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent)));
  if (lanes > 64)  // of bytes, in the widest vector
    refuse("split the axis by the number of lanes first", "vector loop {} of stage '{}' has {} lanes", l.axis,
           stage->name, extent);
  if (extent == 1) return with({range.min, imm(1), range.limit});  // a single lane: a condition instead of a mask
  Expr var = scalar::var(fresh(l.axis));
  bounds_.set(var, 0, extent);  // the others do not matter
  lane_ = var, lanes_ = lanes;
  if (lanes != extent) mask_ = lt(var, imm(extent));
  if (range.limit) {
    Expr exists = lt(scalar::simplify(range.min + var, bounds_), range.limit);
    mask_ = mask_ ? scalar::logical_and(mask_, exists) : exists;
  }
  if (injected_bug_ == Mutation::LoseTailMask) mask_ = {};
  const Expr first = injected_bug_ == Mutation::OutOfBounds ? range.min + (int64_t{1} << 40) : range.min;  // far away
  loop::Stmt body = with({first + var, imm(1)});
  lane_ = {}, mask_ = {};
  return loop::for_(var, imm(0), imm(lanes), loop::ForKind::Vectorised, body);
}

loop::Stmt KernelBuilder::tile_loop(const te::Tensor& stage, const Loop& l, const Range& range, Inside with) {
  // A limit becomes a condition around the work for an element of a warp's tile.
  if (!scalar::is_int(range.extent) || (range.limit && threads_.empty()) || l.step != 1)
    refuse("split the axis by the rows or columns of a tile first, and write ':tile' on its last loop, with step 1",
           "tile loop {}/{} of stage '{}' has the extent {}", l.axis, l.step, stage->name, scalar::str(range.extent));
  Expr var = scalar::var(fresh(l.axis));
  bounds_.set(var, 0, std::max<int64_t>(range.extent->ivalue, 2));  // a variable of one value would disappear
  return loop::for_(var, imm(0), range.extent, loop::ForKind::Tile,
                    in_loop(var, [&] { return with({range.min + var, imm(1), range.limit}); }));
}

std::string KernelBuilder::fresh(const std::string& axis) {
  return format("{}{}", axis, counter_[axis]++ ? std::to_string(counter_[axis] - 1) : "");
}

}  // namespace relay::lower
