#include "relay/lower/schedule/region.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace relay::lower {

using scalar::floordiv;
using scalar::floormod;
using scalar::imm;
using te::TensorNode;

const StageSchedule& Regions::of(const TensorNode& stage) const {
  const StageSchedule* schedule = placement_.schedule_of(stage);
  if (!schedule) refuse("every stage of the group needs a line", "stage '{}' has no schedule", stage.name);
  return *schedule;
}
Ranges Regions::full_ranges(const TensorNode& stage) const {
  Ranges ranges;
  for (const te::Axis& a : stage.axes) ranges[a.var.get()] = {imm(0), scalar::simplify(a.extent)};
  for (const te::Axis& a : stage.reduce_axes) ranges[a.var.get()] = {imm(0), scalar::simplify(a.extent)};
  return ranges;
}

// The part of a region that exists: a guard may keep its reader from the rest, but its producer has no guard. A limited
// range of constant extent stays unchanged if lanes run along it, since the mask cuts it at the limit, or if it is
// finally unrolled or distributed over threads, or in the tiles of a warp: then a condition does.
Range Regions::clipped(const Range& range, const te::TensorNode& t, size_t d) const {
  const te::Axis& axis = t.axes[d];
  if (!range.limit && !range.guarded) return range;
  Expr end = scalar::simplify(range.min + range.extent, bounds_), shape = scalar::simplify(axis.extent);
  bool low = scalar::prove(scalar::le(imm(0), range.min), bounds_).value_or(false);
  if (range.limit && scalar::is_int(range.extent) && (low || !range.guarded)) {
    LoopKind last = LoopKind::Serial;
    for (const Loop& l : of(t).loops)
      if (l.axis == axis.var->name) last = l.kind;
    const te::TensorNode* reader = placement_.consumer_of(t);
    const bool of_warp = last == LoopKind::Tile && reader &&
                         std::any_of(of(*reader).loops.begin(), of(*reader).loops.end(),
                                     [](const Loop& l) { return l.kind == LoopKind::Thread; });
    if (last == LoopKind::Vector || last == LoopKind::Unroll || last == LoopKind::Thread || last == LoopKind::Async ||
        of_warp)
      return range;
  }
  bool high = scalar::prove(scalar::le(end, shape), bounds_).value_or(false);
  if (low && high) return {range.min, range.extent};
  Expr from = low ? range.min : scalar::simplify(scalar::max(range.min, imm(0)), bounds_);
  Expr to = high ? end : scalar::simplify(scalar::min(end, shape), bounds_);
  return {from, scalar::simplify(scalar::max(to - from, imm(0)), bounds_)};
}

Region Regions::read_by(const TensorNode& stage, const TensorNode& t, const Ranges& ranges) const {
  Region region;
  for (const Expr& load : bodies().loads(stage, t)) merge(region, access(load, stage, ranges, t), t);
  return region;
}

std::optional<Region> Regions::required_inside(const te::Tensor& t, const te::Tensor& consumer, size_t level,
                                               const Ranges& ranges) const {
  std::optional<Region> region;
  for (const te::Tensor& user : placement_.readers(*t)) {
    const bool inside = user != consumer && is_inside(user, consumer, level);
    if (user != consumer && !inside) {
      if (is_inside(user, consumer, 0))
        refuse(format("place '{}' at the root, or '{}' inside the same loops", t->name, user->name),
               "stage '{}' is stored inside {} loops of '{}', but '{}' needs it outside of them", t->name, level,
               consumer->name, user->name);
      continue;
    }
    const bool is_array = inside && of(*user).storage == Storage::Array;
    // It reads the elements stored for the same elements of the consumer, however many are left of a task.
    if ((user == consumer || is_array) && reads_own_place(*user, *t)) continue;
    if (!region) region.emplace();
    merge(*region,
          read_by(*user, *t,
                  user == consumer ? ranges
                  : is_array       ? matching_ranges(*user, *consumer, ranges)
                                   : region_ranges(user, required(user, consumer, level, ranges))),
          *t);
  }
  return region;
}

bool Regions::reads_own_place(const TensorNode& user, const TensorNode& t) const {
  for (const Expr& load : bodies().loads(user, t))
    for (size_t d = 0; d < load->args.size(); ++d)
      if (d >= user.axes.size() || load->args[d] != user.axes[d].var) return false;
  return true;
}

Ranges Regions::matching_ranges(const TensorNode& t, const TensorNode& consumer, const Ranges& ranges) const {
  Ranges own = full_ranges(t);
  for (size_t d = 0; d < std::min(t.axes.size(), consumer.axes.size()); ++d)
    own[t.axes[d].var.get()] = ranges.at(consumer.axes[d].var.get());
  return own;
}

Region Regions::required(const te::Tensor& t, const te::Tensor& consumer, size_t level, const Ranges& ranges) const {
  Region region;
  bool any = false;
  auto need = [&](const te::Tensor& user, const Ranges& user_ranges) {
    any = true;
    merge(region, read_by(*user, *t, user_ranges), *t);
  };
  for (const te::Tensor& user : placement_.readers(*t)) {
    if (user == consumer) {
      need(user, ranges);
    } else if (is_inside(user, consumer, level)) {
      need(user, of(*user).storage == Storage::Array ? matching_ranges(*user, *consumer, ranges)
                                                     : region_ranges(user, required(user, consumer, level, ranges)));
    } else {
      refuse(format("place '{}' at the root, or '{}' inside the same loops", t->name, user->name),
             "stage '{}' is computed inside {} loops of '{}', but '{}' needs it outside of them", t->name, level,
             consumer->name, user->name);
    }
  }
  if (!any) refuse("inline it", "stage '{}' is placed at '{}', which does not use it", t->name, consumer->name);
  return region;
}

// True if `stage` is computed within loops >= level of `consumer` (possibly through other placed stages).
bool Regions::is_inside(const te::Tensor& stage, const te::Tensor& consumer, size_t level) const {
  const TensorNode* s = stage.get();
  for (size_t steps = 0; steps <= placement_.stage_count(); ++steps) {
    const StageSchedule& sched = of(*s);
    if (sched.place != Place::At) return false;
    if (sched.consumer == consumer->name) return sched.level >= static_cast<int>(level);
    s = placement_.consumer_of(*s);
    if (!s) return false;
  }
  refuse("", "stage '{}' is placed inside itself", stage->name);
}

Range Regions::left_of(const te::Axis& axis, const TensorNode& stage, const Ranges& ranges) const {
  Range range = ranges.at(axis.var.get());
  std::vector<scalar::Binding> now;
  for (const Expr& v : scalar::free_vars(range.extent))
    for (const te::Axis& a : stage.axes) {
      if (a.var != v) continue;
      const Range& other = ranges.at(v.get());
      if (!scalar::is_int(other.extent, 1))
        refuse(format("end its loops over {} first", v->name),
               "the extent {} of axis '{}' of stage '{}' depends on '{}'", scalar::str(range.extent), axis.var->name,
               stage.name, v->name);
      now.push_back({v, other.min});
    }
  if (!now.empty()) range.extent = scalar::simplify(scalar::substitute(range.extent, now), bounds_);
  return range;
}

// The box of t that a load touches while the user's axes run over their ranges.
Region Regions::access(const Expr& load, const TensorNode& user, const Ranges& ranges, const TensorNode& t) const {
  Exprs vars;
  std::vector<const te::Axis*> axes;
  for (const std::vector<te::Axis>* of_user : {&user.axes, &user.reduce_axes})
    for (const te::Axis& a : *of_user) vars.push_back(a.var), axes.push_back(&a);
  Region region;
  for (size_t d = 0; d < t.shape.size(); ++d) {
    Range whole{imm(0), scalar::simplify(t.shape[d])};
    // floordiv(i, m) runs from floordiv(first i, m) to floordiv(last i, m); floormod(i, m) from floormod(first i, m)
    // on, if all i lie between two multiples of m.
    const Expr& index = load->args[d];
    const bool divided = index->kind == scalar::Kind::Binary && scalar::is_int(index->args[1]) &&
                         index->args[1]->ivalue > 0 &&
                         (index->binary == scalar::BinaryOp::FloorDiv || index->binary == scalar::BinaryOp::FloorMod);
    std::optional<scalar::Affine> affine = scalar::as_affine(divided ? index->args[0] : index, vars);
    if (!affine) {
      region.dims.push_back(whole);
      continue;
    }
    Expr min = affine->rest, extent = imm(1);
    size_t moving = 0;  // the number of axes along which the index moves
    Expr limit;
    bool limited = false,
         below = false;  // lanes past the limit of a range that is walked backwards are before the first
    for (size_t v = 0; v < vars.size(); ++v) {
      int64_t c = affine->coefficients[v];
      if (c == 0) continue;
      const Range r = left_of(*axes[v], user, ranges);
      (c > 0 ? limited : below) |= static_cast<bool>(r.limit);
      ++moving;
      if (c == 1 && r.limit && !divided) limit = scalar::simplify(affine->rest + r.limit, bounds_);
      min = min + (c > 0 ? r.min * c : (r.min + r.extent - 1) * c);
      extent = extent + (r.extent - 1) * (c > 0 ? c : -c);
    }
    if (divided) {
      Expr first = scalar::simplify(floordiv(min, index->args[1]), bounds_),
           last = scalar::simplify(floordiv(min + extent - 1, index->args[1]), bounds_);
      if (index->binary == scalar::BinaryOp::FloorDiv) {
        extent = last - first + 1;
        min = first;
      } else if (scalar::prove_equal(first, last, bounds_).value_or(false)) {
        min = floormod(min, index->args[1]);
      } else {
        region.dims.push_back(whole);
        continue;
      }
    }
    extent = scalar::simplify(extent, bounds_);
    if (scalar::is_int(extent) && extent->ivalue < 0) extent = imm(0);  // an empty range reads nothing
    // Reads of an axis as long as the dimension exist, guarded or not.
    bool exists = false;
    for (const te::Axis* a : axes) exists |= index == a->var && scalar::equal(a->extent, t.shape[d]);
    const bool guarded = below || (!exists && bodies().is_guarded(load, index));
    if (!limited) limit = {};
    if (limited && (!limit || moving > 1 || guarded)) limit = scalar::simplify(t.shape[d]);
    region.dims.push_back({scalar::simplify(min, bounds_), extent, limit, guarded});
  }
  return region;
}

void Regions::merge(Region& into, Region more, const TensorNode& t) const {
  if (into.dims.empty()) {
    into = std::move(more);
    return;
  }
  for (size_t d = 0; d < into.dims.size(); ++d) {
    Range &a = into.dims[d], &b = more.dims[d];
    if (a.limit || b.limit)  // a part that another load needs may be past one's limit
      if (!a.limit || !b.limit || !scalar::equal(a.limit, b.limit)) a.limit = scalar::simplify(t.shape[d]);
    Expr shift = scalar::simplify(b.min - a.min, bounds_);
    if (scalar::is_int(shift) && scalar::is_int(a.extent) && scalar::is_int(b.extent)) {
      int64_t low = std::min<int64_t>(0, shift->ivalue),
              high = std::max(a.extent->ivalue, shift->ivalue + b.extent->ivalue);
      a = {scalar::simplify(a.min + low, bounds_), imm(high - low), a.limit, a.guarded || b.guarded};
    } else if (scalar::is_int(shift, 0)) {
      if (!scalar::equal(a.extent, b.extent)) a.extent = scalar::simplify(scalar::max(a.extent, b.extent), bounds_);
      a.guarded |= b.guarded;
    } else {
      a = {imm(0), scalar::simplify(t.shape[d])};
    }
  }
}

Ranges Regions::region_ranges(const te::Tensor& t, const Region& region) const {
  Ranges r = full_ranges(*t);
  for (size_t d = 0; d < t->axes.size(); ++d) {
    const Range& dim = region.dims[d];
    const bool step =
        t->before && t->axes[d].var->name == of(*t).ring;  // the last one; earlier ones have been computed
    r[t->axes[d].var.get()] =
        step ? Range{scalar::simplify(dim.min + dim.extent - 1, bounds_), imm(1)} : clipped(dim, *t, d);
  }
  return r;
}

// A scan keeps the previous step in its ring: it reads itself one step back along the axis of its fold.
static void check_scan(const TensorNode& scan, const StageSchedule& s) {
  bool follows = s.place == Place::At && !s.ring.empty();
  scalar::visit(scan.body, [&](const Expr& n) {
    if (n->kind != scalar::Kind::Load || n->source.get() != static_cast<const scalar::Source*>(scan.before.get()))
      return;
    for (size_t d = 0; d < n->args.size(); ++d) {
      const Expr& var = scan.axes[d].var;
      follows &= scalar::equal(scalar::simplify(n->args[d]), var->name == s.ring ? scalar::simplify(var - 1) : var);
    }
  });
  if (!follows)
    refuse("place it at a loop of its reader, with 'ring' along the axis of its steps",
           "stage '{}' is a scan: a step of it needs the one before", scan.name);
}

// A program is a separate kernel, whose tasks are loops over its batch axes, and reads arrays.
static void check_program(const te::Tensor& stage, const Schedule& schedule) {
  const StageSchedule& s = schedule.stages.at(stage->name);
  if (s.place != Place::Root)
    refuse(format("write 'stage {}: root'", stage->name), "stage '{}' is a program: it is a kernel of its own",
           stage->name);
  for (const Loop& l : s.loops) {
    bool batch = false;
    for (size_t d : stage->batch_axes) batch |= stage->axes[d].var->name == l.axis;
    if (!batch)
      refuse("leave the loop out", "stage '{}' is a program, whose own loops run over axis '{}'", stage->name, l.axis);
    if (l.kind == LoopKind::Vector || l.kind == LoopKind::SkipPadding || l.kind == LoopKind::Block ||
        l.kind == LoopKind::Thread || l.kind == LoopKind::Async)
      refuse("make it parallel or serial", "loop {} of stage '{}' is of a kind that a program cannot have", l.axis,
             stage->name);
  }
  if (!s.prefetch.empty() || !s.prefetch_tile.empty())
    refuse("leave 'prefetch' and 'prefetch_tile' out", "stage '{}' is a program: what it reads next is not known",
           stage->name);
  for (const te::Tensor& in : te::inputs(stage)) {
    if (in->is_placeholder()) continue;
    const auto it = schedule.stages.find(in->name);
    if (it != schedule.stages.end() && it->second.place != Place::Root)
      refuse(format("place '{}' at the root", in->name), "stage '{}' is not stored, and the program '{}' reads it",
             in->name, stage->name);
  }
}

// Checks a schedule as far as possible before any loop is built.
void check_places(const te::Tensors& stages, const Schedule& schedule) {
  auto schedule_of = [&](const std::string& name) -> const StageSchedule* {
    auto it = schedule.stages.find(name);
    return it == schedule.stages.end() ? nullptr : &it->second;
  };
  for (const te::Tensor& t : stages) {
    if (t->is_placeholder()) continue;
    const StageSchedule* s = schedule_of(t->name);
    if (!s) refuse(format("add 'stage {}: inline' or another place", t->name), "stage '{}' has no schedule", t->name);
    if (s->place == Place::Inline && t->combiner != te::Combiner::None)
      refuse("place it at the root or at a loop of its reader", "stage '{}' is a reduction: it cannot be inlined",
             t->name);
    if (s->place == Place::Root && te::has_several_values(*t))
      refuse("place it at a loop of its reader, on registers", "stage '{}' has several values, and an array has one",
             t->name);
    if (s->reads_halo && !guarded(*t))
      refuse("write 'inline' alone", "stage '{}' is not padding: it has no guard that a halo could replace", t->name);
    if (!s->prefetch.empty() && innermost_serial(*t, *s) < 0)
      refuse("leave 'prefetch' out", "stage '{}' has no serial loop in which '{}' could be fetched", t->name,
             s->prefetch.front().array);
    if (t->before) check_scan(*t, *s);
    if (t->is_program()) check_program(t, schedule);
    if (s->place != Place::At) continue;
    if (s->storage == Storage::Array && (te::has_several_values(*t) || t->before || !s->ring.empty()))
      refuse("place it at the root",
             "stage '{}' cannot be stored beside '{}': it is a scan, has a ring or several values", t->name,
             s->consumer);
    if (s->storage == Storage::Shared && (te::has_several_values(*t) || !s->ring.empty()))
      refuse("store it on the stack", "stage '{}' cannot be shared: it has a ring or several values", t->name);
    const StageSchedule* c = schedule_of(s->consumer);
    if (!c || c->place == Place::Inline)
      refuse("name the stage that it is inlined into",
             "stage '{}' is placed at '{}', which is inlined and has no loops", t->name, s->consumer);
    if (s->level > static_cast<int>(c->loops.size()))
      refuse(format("{} is the innermost place", c->loops.size()),
             "stage '{}' is placed inside {} loops of '{}', which has {}", t->name, s->level, s->consumer,
             c->loops.size());
  }
}

}  // namespace relay::lower
