// Shared stages that hold several steps of a loop: while a step is computed, the next ones are copied.
//
//   for s in 0..2 { copies of step s to place s; commit }
//   for k in 0..n {
//     wait 1
//     barrier
//     if k < n - 2 { copies of step k + 2 to place (k + 2) % 3 }
//     commit
//     step k, from place k % 3
//   }
//
// At the wait, the thread has committed k + 2 groups, and the first k + 1 of them are done. Behind the barrier, this is
// so for all threads, and all have computed step k - 1, whose place is filled next.
#include <algorithm>
#include <numeric>

#include "relay/lower/nest/nest_builder.h"
#include "relay/machine/instruction.h"

namespace relay::lower {

using scalar::floormod;
using scalar::imm;
using scalar::lt;

te::Tensors KernelBuilder::filled_ahead(const te::Tensor& stage, size_t level) const {
  te::Tensors out;
  for (const te::Tensor& t : placement_.placed_in(*stage))
    if (of(*t).level == static_cast<int>(level) && stages_of(of(*t)) > 1) out.push_back(t);
  return out;
}

loop::Stmt KernelBuilder::fill_step(const te::Tensor& t, const te::Tensor& consumer, size_t level, const Ranges& ranges,
                                    const Expr& place) {
  const Region region = of_all_threads(t, regions_.required(t, consumer, level, ranges));
  Local& local = locals_.at(t.get());
  local.place = place;
  for (size_t d = 0; d < t->axes.size(); ++d) local.origin[d] = region.dims[d].min;
  return fill(t, regions_.region_ranges(t, region));
}

loop::Stmt KernelBuilder::pipelined_loop(const te::Tensor& stage, size_t level, const Range& range,
                                         const Ranges& ranges, Inside with) {
  const Loop& l = of(*stage).loops[level];
  const te::Tensors ahead = filled_ahead(stage, level + 1);
  const int64_t stages = stages_of(of(*ahead[0]));
  const bool is_whole = scalar::is_int(range.extent) && range.extent->ivalue % l.step == 0 && !range.limit;
  const int64_t count = is_whole ? range.extent->ivalue / l.step : 0;
  if (threads_.empty() || filling_ || l.kind != LoopKind::Serial || count < stages)
    refuse("let it have at least as many steps, all of one size, in a serial loop inside of those over threads",
           "stage '{}' holds {} steps of loop {}/{} of '{}', whose extent is {}", ahead[0]->name, stages, l.axis,
           l.step, stage->name, scalar::str(range.extent));
  const te::Axis* axis = find_axis(*stage, l.axis);
  auto of_step = [&](const Expr& number) {
    Ranges r = ranges;
    r[axis->var.get()] = {scalar::simplify(range.min + number * l.step, bounds_), imm(l.step)};
    return r;
  };
  Buffers buffers;
  const Expr any = scalar::var(fresh(l.axis));
  bounds_.set(any, 0, count);
  for (const te::Tensor& t : ahead) {
    if (stages_of(of(*t)) != stages)
      refuse("give both as many stages", "stages '{}' and '{}' hold {} and {} steps of one loop", ahead[0]->name,
             t->name, stages, stages_of(of(*t)));
    Local local;
    for (loop::BufferRef& b :
         new_buffers(t, of_all_threads(t, regions_.required(t, stage, level + 1, of_step(any))), local, -1, 0))
      buffers.push_back(std::move(b));
    locals_[t.get()] = local;
  }
  auto copies = [&](const Expr& number, const Expr& place) {
    loop::Stmts out;
    for (const te::Tensor& t : ahead) out.push_back(fill_step(t, stage, level + 1, of_step(number), place));
    return loop::block(std::move(out));
  };
  const bool in_loop_of_threads = open_.size() > outside_threads_;
  const Expr first = scalar::var(fresh(l.axis)), step = scalar::var(fresh(l.axis)),
             next = scalar::var(fresh(l.axis + "_ahead")), place = scalar::var(fresh(l.axis + "_place")),
             next_place = scalar::var(fresh(l.axis + "_place"));
  bounds_.set(first, 0, stages - 1), bounds_.set(step, 0, count);
  bounds_.set(next, {stages - 1, count - 1});
  bounds_.set(place, 0, stages), bounds_.set(next_place, 0, stages);
  loop::Stmts out;
  // Other threads may still read what the array held before.
  if (in_loop_of_threads && injected_bug_ != Mutation::LoseBarrier) out.push_back(loop::barrier());
  out.push_back(loop::for_(first, imm(0), imm(stages - 1), loop::ForKind::Serial,
                           in_loop(first, [&] { return loop::block({copies(first, first), loop::commit()}); })));
  out.push_back(loop::for_(step, imm(0), imm(count), loop::ForKind::Serial, in_loop(step, [&] {
                             loop::Stmts parts;
                             if (injected_bug_ != Mutation::LoseWait) parts.push_back(loop::wait(stages - 2));
                             if (injected_bug_ != Mutation::LoseBarrier) parts.push_back(loop::barrier());
                             const loop::Stmt ahead_of_step = loop::let(
                                 next, step + (stages - 1),
                                 loop::let(next_place, floormod(next, imm(stages)), copies(next, next_place)));
                             parts.push_back(loop::if_(lt(step, imm(count - (stages - 1))), ahead_of_step));
                             parts.push_back(loop::commit());
                             const Ranges now = of_step(step);
                             for (const te::Tensor& t : ahead) {
                               const Region region = of_all_threads(t, regions_.required(t, stage, level + 1, now));
                               Local& local = locals_.at(t.get());
                               local.place = place;
                               for (size_t d = 0; d < t->axes.size(); ++d) local.origin[d] = region.dims[d].min;
                               ahead_.insert(t.get());
                             }
                             const Range part = now.at(axis->var.get());
                             parts.push_back(loop::let(place, floormod(step, imm(stages)), with(part)));
                             for (const te::Tensor& t : ahead) ahead_.erase(t.get());
                             return loop::block(std::move(parts));
                           })));
  loop::Stmt body = loop::block(std::move(out));
  for (size_t i = buffers.size(); i-- > 0;) body = loop::alloc(buffers[i], body);
  return body;
}

// True if the value is surely a multiple of n.
static bool is_multiple(const Expr& e, int64_t n) {
  if (n == 1) return true;
  if (e->kind == scalar::Kind::Int) return e->ivalue % n == 0;
  if (e->kind != scalar::Kind::Binary) return false;
  const Expr &a = e->args[0], &b = e->args[1];
  switch (e->binary) {
    case scalar::BinaryOp::Add:
    case scalar::BinaryOp::Sub:
    case scalar::BinaryOp::Min:
    case scalar::BinaryOp::Max: return is_multiple(a, n) && is_multiple(b, n);
    case scalar::BinaryOp::Mul: {
      auto rest = [&](const Expr& factor) { return scalar::is_int(factor) ? n / std::gcd(n, factor->ivalue) : n; };
      return is_multiple(a, rest(b)) || is_multiple(b, rest(a));
    }
    default: return false;
  }
}

// True if the element is surely at a multiple of `elements` of its array.
static bool is_aligned(const loop::Buffer& buffer, const Exprs& indices, int64_t elements) {
  int64_t stride = 1;  // of a dimension, as far as it matters
  for (size_t d = indices.size(); d-- > 0;) {
    if (!is_multiple(indices[d], elements / std::gcd(elements, stride))) return false;
    const Expr extent = scalar::simplify(buffer.shape[d]);
    stride *= scalar::is_int(extent)          ? std::gcd(elements, extent->ivalue)
              : is_multiple(extent, elements) ? elements
                                              : 1;
  }
  return true;
}

loop::Stmt KernelBuilder::async_copy(const te::Tensor& stage, const Loop& l, const Ranges& ranges) {
  const te::Axis* axis = find_axis(*stage, l.axis);
  const Range range = regions_.left_of(*axis, *stage, ranges);
  const int64_t elements = scalar::is_int(range.extent) ? range.extent->ivalue : 0;
  if (!filling_ || l.step < 2 || &l != &of(*stage).loops.back() || elements < 1)
    refuse("write ':async' on the last loop of a shared stage, behind one over threads, with a step of at least 2",
           "loop {}/{} of stage '{}' is one copy, and its extent is {}", l.axis, l.step, stage->name,
           scalar::str(range.extent));
  const int64_t bytes = elements * stage->dtype.bytes();
  if (!machine::find_copy_instruction(target_, bytes).instruction)
    refuse("choose a target with such copies, such as cuda:sm_80, or leave out ':async'",
           "stage '{}' is copied asynchronously, {} bytes at once, and {} has no instruction for that", stage->name,
           bytes, target_.name);
  const Expr beside = scalar::var(fresh(l.axis));
  bounds_.set(beside, 0, elements);
  auto bound = [&](const Expr& more, std::vector<scalar::Binding>& bindings) {
    Exprs at;
    for (const te::Axis& a : stage->axes) {
      const Range& r = ranges.at(a.var.get());
      if (&a != axis && !scalar::is_int(r.extent, 1))
        refuse(format("end its loops with {}/1", a.var->name),
               "the loops of stage '{}' do not cover axis '{}': {} elements are left", stage->name, a.var->name,
               scalar::str(r.extent));
      at.push_back(a.var == axis->var ? scalar::simplify(r.min + more, bounds_) : r.min);
      bindings.push_back({a.var, at.back()});
    }
    return at;
  };
  auto moves_by_one = [&](const Exprs& from, const Exprs& to) {
    bool good = !from.empty();
    for (size_t d = 0; good && d < from.size(); ++d)
      good = scalar::equal(scalar::simplify(to[d] - from[d], bounds_), d + 1 == from.size() ? beside : imm(0));
    return good;
  };
  std::vector<scalar::Binding> first, next;
  const Exprs at = bound(imm(0), first), at_next = bound(beside, next);
  const Expr value = resolve(decided(scalar::substitute(bodies_.body(*stage), first))),
             value_next = resolve(decided(scalar::substitute(bodies_.body(*stage), next)));
  const auto [to, to_at] = address(*stage, at);
  const Exprs to_next = address(*stage, at_next).second;
  auto is_copied = [&] {
    if (value->kind != scalar::Kind::Load || value_next->kind != scalar::Kind::Load) return false;
    const loop::Buffer& from = static_cast<const loop::Buffer&>(*value->source);
    return from.scope == loop::Scope::Param && from.read_only && from.dtype == to->dtype &&
           moves_by_one(value->args, value_next->args) && moves_by_one(to_at, to_next) &&
           is_aligned(from, value->args, elements) && is_aligned(*to, to_at, elements) &&
           (!range.limit || is_multiple(scalar::simplify(range.limit, bounds_), elements));
  };
  if (!is_copied())
    refuse(
        "leave out ':async', or store its input so that rows are multiples of these bytes",
        "stage '{}' is copied asynchronously, and {} bytes of it are not known to be aligned neighbours of one array",
        stage->name, bytes);
  loop::Stmt copy = loop::async_copy(to, to_at, value, elements);
  for (const te::Axis& a : stage->axes)
    if (const Range& r = ranges.at(a.var.get()); r.limit) copy = loop::if_(lt(r.min, r.limit), copy);
  return copy;
}

}  // namespace relay::lower
