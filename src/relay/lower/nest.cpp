#include "relay/lower/nest.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "relay/lower/expand.h"
#include "relay/lower/region.h"

namespace relay::lower {

using scalar::Binding;
using scalar::Bounds;
using scalar::floordiv;
using scalar::floormod;
using scalar::imm;
using scalar::lt;
using te::TensorNode;

static Mutation planted_mutation = Mutation::None;
void plant(Mutation mutation) { planted_mutation = mutation; }
Mutation planted() { return planted_mutation; }

namespace {

// A stage computed into local storage: buffer[order of (index - origin)].
struct Local {
  loop::BufferRef buffer;
  Exprs origin;            // one a logical dimension
  std::vector<int> order;  // physical position -> logical dimension
  int ring_dim = -1;       // this dimension is indexed modulo ring_size instead
  int64_t ring_size = 0;
  size_t loops_around = 0;  // of a ring: those open where it is allocated
};

int64_t round_up(int64_t v, int64_t to) { return (v + to - 1) / to * to; }
bool depends_on(const Expr& e, const Expr& variable) {
  bool found = false;
  scalar::visit(e, [&](const Expr& n) { found |= n == variable; });
  return found;
}

class KernelBuilder {
 public:
  KernelBuilder(const te::Tensors& stages, const Schedule& schedule, const std::map<std::string, Layout>& layouts,
                const TargetDesc& target)
      : stages_(stages),
        layouts_(layouts),
        target_(target),
        bodies_(expand(stages, schedule)),
        regions_(stages, schedule, bodies_, bounds_) {
    for (const te::Tensor& t : stages)
      if (t->before) scans_[t->before.get()] = t.get();
  }

  BuiltKernel build(const te::Tensor& root, const std::string& name) {
    root_ = root;
    BuiltKernel out;
    out.root = root;
    params_of(root, out.params);
    std::erase(out.params, root);
    out.params.push_back(root);
    for (const te::Tensor& t : out.params) {
      loop::Buffer b;
      b.name = t->name, b.dtype = t->dtype, b.scope = loop::Scope::Param, b.read_only = t != root;
      for (const Expr& e : layout(t).physical_shape(t->shape)) b.shape.push_back(scalar::simplify(e));
      params_[t.get()] = loop::BufferRef(new loop::Buffer(std::move(b)));
      out.kernel.params.push_back(params_[t.get()]);
    }
    Ranges ranges = regions_.full_ranges(*root);
    out.kernel.name = name;
    out.kernel.task = scalar::var("task");
    out.kernel.tasks = imm(1);
    out.kernel.body = tasks(ranges, out.kernel);
    out.kernel.shape_vars = shape_vars(out);
    return out;
  }

 private:
  const StageSchedule& of(const TensorNode& stage) const { return regions_.of(stage); }
  const Layout& layout(const te::Tensor& t) const {
    auto it = layouts_.find(t->name);
    RELAY_CHECK(it != layouts_.end(), "no layout for '{}'", t->name);
    return it->second;
  }
  bool is_at(const TensorNode& t) const { return !t.is_placeholder() && of(t).place == Place::At; }

  // The placeholders and other roots that `stage` and the stages placed in it read.
  void params_of(const te::Tensor& stage, te::Tensors& out) {
    for (const te::Tensor& t : bodies_.loads_of(*stage)) {
      if (is_at(*t))
        params_of(t, out);
      else if (std::find(out.begin(), out.end(), t) == out.end())
        out.push_back(t);
    }
  }

  Exprs shape_vars(const BuiltKernel& k) {
    Exprs vars;
    auto add = [&](const Expr& e) {
      for (const Expr& v : scalar::free_vars(e))
        if (std::find(vars.begin(), vars.end(), v) == vars.end()) vars.push_back(v);
    };
    for (const te::Tensor& t : k.params)
      for (const Expr& e : t->shape) add(e);
    add(k.kernel.tasks);
    // Bodies may hold shape variables of tensors they do not load: a mean divides by n, shape_of gives n.
    std::unordered_set<const scalar::Node*> inside{k.kernel.task.get()};
    loop::visit(
        k.kernel.body,
        [&](const loop::Stmt& s) {
          if (s->var) inside.insert(s->var.get());
        },
        [](const Expr&) {});
    loop::visit(
        k.kernel.body, [](const loop::Stmt&) {},
        [&](const Expr& e) {
          for (const Expr& v : scalar::free_vars(e))
            if (!inside.count(v.get())) add(v);
        });
    return vars;
  }

  // --- loops ------------------------------------------------------------------------------------------------------------

  // The parallel prefix of the root's loops becomes the task index.
  loop::Stmt tasks(Ranges& ranges, loop::Kernel& kernel) {
    const StageSchedule& s = of(*root_);
    size_t n = 0;
    while (n < s.loops.size() && s.loops[n].kind == LoopKind::Parallel) ++n;
    struct Digit {
      Expr var, count, value;
    };
    std::vector<Digit> digits;
    Ranges counting = ranges;
    for (size_t i = 0; i < n; ++i) {
      const te::Axis* axis = find_axis(*root_, s.loops[i].axis);
      if (is_reduce_axis(*root_, s.loops[i].axis) && planted_mutation != Mutation::Race)
        refuse("make it serial, or split the reduction into partial results",
               "loop {} of stage '{}' is parallel over a reduction axis: its tasks would race on the same results",
               s.loops[i].axis, root_->name);
      Range& r = counting[axis->var.get()];
      Expr count = scalar::simplify(floordiv(r.extent + (s.loops[i].step - 1), s.loops[i].step));
      digits.push_back({scalar::var(format("{}_task", s.loops[i].axis)), count, {}});
      bool divides = scalar::is_int(scalar::simplify(floormod(r.extent, s.loops[i].step)), 0);
      for (size_t j = i + 1; j < n; ++j)
        if (!divides && s.loops[j].axis == s.loops[i].axis)
          refuse("give the outer one a step that divides the extent",
                 "two loops of stage '{}' are parallel over axis '{}', whose extent {} the step {} does not divide",
                 root_->name, s.loops[i].axis, scalar::str(r.extent), s.loops[i].step);
      r.extent = imm(s.loops[i].step);
    }
    Expr rest = kernel.task;
    for (size_t i = n; i-- > 0;) {
      digits[i].value = i == 0 ? rest : floormod(rest, digits[i].count);
      rest = floordiv(rest, digits[i].count);
      kernel.tasks = digits[i].count * kernel.tasks;
      if (scalar::is_int(digits[i].count))
        bounds_.set(digits[i].var, 0, digits[i].count->ivalue);
      else
        bounds_.set_range(digits[i].var, imm(0), digits[i].count);
    }
    kernel.tasks = scalar::simplify(kernel.tasks);
    for (const Digit& d : digits) parallel_digits_.push_back(d.var);
    loop::Stmt body = loops(root_, 0, ranges);
    for (size_t i = n; i-- > 0;) body = loop::let(digits[i].var, scalar::simplify(digits[i].value), body);
    return body;
  }

  // Loops [level, end) of a stage over `ranges`, with what is placed at `level` computed first.
  loop::Stmt loops(const te::Tensor& stage, size_t level, const Ranges& ranges) {
    return with_placed(stage, level, ranges, [&](const Ranges& r) { return loops_after_placed(stage, level, r); });
  }

  size_t first_reduce_loop(const TensorNode& stage) const {
    const std::vector<Loop>& l = of(stage).loops;
    for (size_t i = 0; i < l.size(); ++i)
      if (is_reduce_axis(stage, l[i].axis)) return i;
    return l.size();
  }

  loop::Stmt loops_after_placed(const te::Tensor& stage, size_t level, const Ranges& ranges) {
    bool reduces = stage->combiner != te::Combiner::None;
    if (reduces && level == first_reduce_loop(*stage)) {
      loop::Stmt init = one_loop(stage, level, ranges, /*init=*/true);
      return loop::block({init, one_loop(stage, level, ranges, false)});
    }
    return one_loop(stage, level, ranges, false);
  }

  // One loop and what is inside. With `init`, reduction loops are skipped and the identity is stored.
  loop::Stmt one_loop(const te::Tensor& stage, size_t level, const Ranges& ranges, bool init) {
    const StageSchedule& s = of(*stage);
    if (level == s.loops.size()) return element(stage, ranges, init);
    const Loop& l = s.loops[level];
    if (lane_)
      refuse("write the vector loop last", "loop {}/{} of stage '{}' stands inside a vector loop", l.axis, l.step,
             stage->name);
    const te::Axis* axis = find_axis(*stage, l.axis);
    if (!axis) refuse("see the stage's axes with --emit te", "stage '{}' has no axis '{}'", stage->name, l.axis);
    bool reduce = is_reduce_axis(*stage, l.axis);
    const bool fetches = !init && !s.ahead.empty() && innermost_sum(*stage, s) == static_cast<int>(level);
    auto inside = [&](const Ranges& r) {
      if (init) return one_loop(stage, level + 1, r, true);
      loop::Stmt body = loops(stage, level + 1, r);
      if (!fetches) return body;
      loop::Stmts parts = fetch_ahead(*stage, r);
      parts.push_back(body);
      return loop::block(std::move(parts));
    };
    if (init && reduce) return one_loop(stage, level + 1, ranges, true);

    Range range = regions_.left_of(*axis, *stage, ranges);
    auto with = [&](Expr min, Expr extent, Expr limit = {}) {
      Ranges inner = ranges;
      inner[axis->var.get()] = {scalar::simplify(min, bounds_), std::move(extent), std::move(limit)};
      return inside(inner);
    };
    if (l.kind == LoopKind::Vector) return vector_loop(stage, l, range, with);
    if (l.kind == LoopKind::Parallel) return parallel_loop(stage, level, range, l, with);
    if (l.kind == LoopKind::Peeled && !scalar::is_int(range.extent, 1)) return peeled_loop(l, range, with);
    if (!scalar::is_int(range.extent)) return symbolic_loop(stage, l, level, range, with);

    int64_t extent = range.extent->ivalue, full = extent / l.step, tail = extent % l.step;
    if (reduce && planted_mutation == Mutation::WrongKTail) tail = 0;
    loop::Stmts out;
    if (full == 1)
      out.push_back(with(range.min, imm(l.step), range.limit));
    else if (full > 1) {
      Expr var = scalar::var(fresh(l.axis));
      bounds_.set(var, 0, full);
      out.push_back(loop::for_(var, imm(0), imm(full),
                               l.kind == LoopKind::Unroll ? loop::ForKind::Unrolled : loop::ForKind::Serial,
                               in_loop(var, [&] { return with(range.min + var * l.step, imm(l.step), range.limit); })));
    }
    if (tail) {
      if (!of_fold_at(stage, level + 1).empty() && full)
        refuse("give the loop a step that divides its extent (1 always does)",
               "stage '{}' slides over '{}' in a loop whose step {} does not divide its extent {}", stage->name,
               of_fold_at(stage, level + 1), l.step, extent);
      out.push_back(with(range.min + full * l.step, imm(tail), range.limit));
    }
    return loop::block(std::move(out));
  }

  // Prefetches of the lines that the stage reads of `ahead` at the first point of the ranges, further along the axis.
  loop::Stmts fetch_ahead(const TensorNode& stage, const Ranges& ranges) {
    const StageSchedule& s = of(stage);
    loop::Stmts out;
    const te::Tensor* tensor = nullptr;
    for (const te::Tensor& t : bodies_.loads_of(stage))
      if (t->name == s.ahead) tensor = &t;
    if (!tensor || !params_.count(tensor->get()))
      refuse("name an array that the stage reads", "stage '{}' does not read '{}' from memory", stage.name, s.ahead);
    const Range& along = ranges.at(find_axis(stage, s.ahead_axis)->var.get());
    const int64_t line = std::max(1, 64 / (*tensor)->dtype.bytes());
    for (int64_t at = 0; at < (scalar::is_int(along.extent) ? along.extent->ivalue : 1); at += line) {
      std::vector<Binding> bindings;
      for (const std::vector<te::Axis>* axes : {&stage.axes, &stage.reduce_axes})
        for (const te::Axis& a : *axes)
          bindings.push_back(
              {a.var, a.var->name == s.ahead_axis ? along.min + (s.ahead_step + at) : ranges.at(a.var.get()).min});
      Exprs place;
      for (const Expr& index : bodies_.loads(stage, **tensor).front()->args)
        place.push_back(scalar::simplify(scalar::substitute(index, bindings), bounds_));
      auto [buffer, indices] = address(**tensor, place);
      out.push_back(loop::prefetch(buffer, indices));
    }
    return out;
  }

  template <class F>
  loop::Stmt in_loop(const Expr& var, F body) {
    open_.push_back(var);
    loop::Stmt s = body();
    open_.pop_back();
    return s;
  }

  // The extent of tile `var`: the last one may be smaller.
  Expr rest(const Range& range, const Expr& var, int64_t step) {
    return scalar::simplify(scalar::min(imm(step), range.extent - var * step), bounds_);
  }
  // True if a later loop of the stage cuts the tiles of loop `level` again.
  bool is_cut_again(const TensorNode& stage, size_t level) const {
    const std::vector<Loop>& l = of(stage).loops;
    return std::any_of(l.begin() + static_cast<int64_t>(level) + 1, l.end(), [&](const Loop& later) {
      return later.axis == l[level].axis && later.step > 1 && later.kind == LoopKind::Serial;
    });
  }

  template <class With>
  loop::Stmt peeled_loop(const Loop& l, const Range& range, With with) {
    if (l.step != 1) refuse("give it the step 1", "loop {}/{} is peeled", l.axis, l.step);
    if (scalar::is_int(range.extent, 0)) return loop::block({});
    const Expr last = scalar::simplify(range.extent - 1);
    Expr var = scalar::var(fresh(l.axis));
    bounds_.set_range(var, imm(0), last);
    loop::Stmt others = loop::for_(var, imm(0), last, loop::ForKind::Serial,
                                   in_loop(var, [&] { return with(range.min + var, imm(1), range.limit); }));
    if (scalar::is_int(last)) return loop::block({others, with(range.min + last, imm(1), range.limit)});
    Expr at_last = scalar::var(fresh(l.axis));
    bounds_.set_range(at_last, imm(0), range.extent);
    return loop::block({others, loop::if_(lt(imm(0), range.extent),
                                          loop::let(at_last, last, with(range.min + at_last, imm(1), range.limit)))});
  }

  // The extent is known at run time only: whole tiles, then either one masked tile (if lanes follow) or a partial one. Tiles that
  // are cut again take what is left.
  template <class With>
  loop::Stmt symbolic_loop(const te::Tensor& stage, const Loop& l, size_t level, const Range& range, With with) {
    Expr var = scalar::var(fresh(l.axis));
    bounds_.set(var, {0, std::nullopt});
    loop::ForKind serial = loop::ForKind::Serial;
    if (l.step == 1) {
      bounds_.set_range(var, imm(0), range.extent);
      return loop::for_(var, imm(0), range.extent, serial, in_loop(var, [&] { return with(range.min + var, imm(1)); }));
    }
    if (is_cut_again(*stage, level)) {
      bounds_.set_range(var, imm(0), scalar::simplify(floordiv(range.extent + (l.step - 1), l.step)));
      return loop::for_(var, imm(0), scalar::simplify(floordiv(range.extent + (l.step - 1), l.step)), serial,
                        in_loop(var, [&] { return with(range.min + var * l.step, rest(range, var, l.step)); }));
    }
    Expr full = scalar::simplify(floordiv(range.extent, l.step));
    loop::Stmt tiles = loop::for_(var, imm(0), full, serial,
                                  in_loop(var, [&] { return with(range.min + var * l.step, imm(l.step)); }));
    Expr tail = scalar::simplify(floormod(range.extent, l.step));
    bool lanes_follow = false;
    for (size_t i = level + 1; i < of(*stage).loops.size(); ++i)
      lanes_follow |= of(*stage).loops[i].axis == l.axis && of(*stage).loops[i].kind == LoopKind::Vector;
    Expr begin = range.min + full * l.step, end = scalar::simplify(range.min + range.extent, bounds_);
    if (lanes_follow) return loop::block({tiles, loop::if_(lt(imm(0), tail), with(begin, imm(l.step), end))});
    return loop::block({tiles, partial_tile(stage, l, level, begin, tail, with)});
  }

  // True if loops [level, end) of the stage, or of what is placed there, unroll the axis: that is a register tile. What is
  // computed of a tile before it is stored has the axes of the result.
  bool unrolls(const te::Tensor& stage, size_t level, const std::string& axis) const {
    const std::vector<Loop>& l = of(*stage).loops;
    for (size_t i = level; i < l.size(); ++i)
      if (l[i].axis == axis && l[i].kind == LoopKind::Unroll) return true;
    return std::any_of(stages_.begin(), stages_.end(), [&](const te::Tensor& t) {
      return is_at(*t) && of(*t).consumer == stage->name && of(*t).level >= static_cast<int>(level) &&
             unrolls(t, 0, axis);
    });
  }

  // `tail` < step elements from `begin` on. Of a register tile they are tiles of half the size, a quarter, and so on to four, and
  // one of three, two or one, so that what all rows read is read a few times and not for each; others are single steps.
  template <class With>
  loop::Stmt partial_tile(const te::Tensor& stage, const Loop& l, size_t level, const Expr& begin, const Expr& tail,
                          With with) {
    if (l.step <= 2 || !of_fold_at(stage, level + 1).empty() || !unrolls(stage, level + 1, l.axis)) {
      Expr step = scalar::var(fresh(l.axis));
      bounds_.set(step, {0, l.step - 1});
      return loop::for_(step, imm(0), tail, loop::ForKind::Serial,
                        in_loop(step, [&] { return with(begin + step, imm(1)); }));
    }
    loop::Stmts out;
    Expr done = imm(0);
    int64_t size = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(l.step - 1)));
    for (; size >= 4; size /= 2) {
      Expr after = scalar::simplify(floordiv(tail, size) * size, bounds_);
      out.push_back(loop::if_(lt(done, after), with(begin + done, imm(size))));
      done = after;
    }
    Expr few = scalar::simplify(tail - done, bounds_);
    for (size = std::min<int64_t>(3, l.step - 1); size > 0; --size)
      out.push_back(loop::if_(scalar::eq(few, imm(size)), with(begin + done, imm(size))));
    return loop::block(std::move(out));
  }

  template <class With>
  loop::Stmt parallel_loop(const te::Tensor& stage, size_t level, const Range& range, const Loop& l, With with) {
    if (stage != root_ || level >= parallel_digits_.size())
      refuse("put parallel loops first, at a root stage",
             "loop {} of stage '{}' is parallel, but other loops stand before it", l.axis, stage->name);
    Expr var = parallel_digits_[level];
    if (l.step == 1) return with(range.min + var, imm(1));
    if (scalar::is_int(range.extent)) {
      int64_t full = range.extent->ivalue / l.step, tail = range.extent->ivalue % l.step;
      if (tail == 0) return with(range.min + var * l.step, imm(l.step));
      if (full == 0) return with(range.min, imm(tail));
      return loop::if_(lt(var, imm(full)), with(range.min + var * l.step, imm(l.step)),
                       with(range.min + full * l.step, imm(tail)));
    }
    if (is_cut_again(*stage, level)) return with(range.min + var * l.step, rest(range, var, l.step));
    Expr full = scalar::simplify(floordiv(range.extent, l.step));
    bool lanes_follow = false;
    for (size_t i = level + 1; i < of(*stage).loops.size(); ++i)
      lanes_follow |= of(*stage).loops[i].axis == l.axis && of(*stage).loops[i].kind == LoopKind::Vector;
    loop::Stmt whole = with(range.min + var * l.step, imm(l.step));
    if (lanes_follow)
      return loop::if_(
          lt(var, full), whole,
          with(range.min + full * l.step, imm(l.step), scalar::simplify(range.min + range.extent, bounds_)));
    Expr tail = scalar::simplify(floormod(range.extent, l.step));
    return loop::if_(lt(var, full), whole, partial_tile(stage, l, level, range.min + full * l.step, tail, with));
  }

  template <class With>
  loop::Stmt vector_loop(const te::Tensor& stage, const Loop& l, const Range& range, With with) {
    if (is_reduce_axis(*stage, l.axis))
      refuse("split the reduction into lanes first (rfactor)",
             "loop {} of stage '{}' is a vector over a reduction axis", l.axis, stage->name);
    if (l.step != 1)
      refuse("write ':vector' on the last loop of the axis, with step 1", "vector loop {} of stage '{}' has step {}",
             l.axis, stage->name, l.step);
    if (!scalar::is_int(range.extent))
      refuse("split the axis by the number of lanes first",
             "vector loop {} of stage '{}' has the extent {}, which is not a constant", l.axis, stage->name,
             scalar::str(range.extent));
    int64_t extent = range.extent->ivalue, lanes = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent)));
    if (lanes > 64)
      refuse("split the axis by the number of lanes first", "vector loop {} of stage '{}' has {} lanes", l.axis,
             stage->name, extent);
    if (extent == 1) return with(range.min, imm(1), range.limit);  // one lane: a condition instead of a mask
    Expr var = scalar::var(fresh(l.axis));
    bounds_.set(var, 0, extent);  // nothing depends on the others
    lane_ = var, lanes_ = lanes;
    if (lanes != extent) mask_ = lt(var, imm(extent));
    if (range.limit) {
      Expr exists = lt(scalar::simplify(range.min + var, bounds_), range.limit);
      mask_ = mask_ ? scalar::logical_and(mask_, exists) : exists;
    }
    if (planted_mutation == Mutation::LoseTailMask) mask_ = {};
    loop::Stmt body = with(range.min + var, imm(1));
    lane_ = {}, mask_ = {};
    return loop::for_(var, imm(0), imm(lanes), loop::ForKind::Vectorised, body);
  }

  // --- placing ----------------------------------------------------------------------------------------------------------

  // The fold axis of a stage placed at (stage, level), or "".
  std::string of_fold_at(const te::Tensor& stage, size_t level) const {
    for (const te::Tensor& t : stages_)
      if (is_at(*t) && of(*t).consumer == stage->name && of(*t).level == static_cast<int>(level) &&
          !of(*t).fold.empty())
        return of(*t).fold;
    return "";
  }

  // Computes the stages placed at (stage, level), then `rest`, inside the allocations of their buffers.
  template <class Rest>
  loop::Stmt with_placed(const te::Tensor& stage, size_t level, const Ranges& ranges, Rest rest) {
    // Rings opened here: stages that slide in the loop that comes next keep their buffer across its iterations.
    std::vector<loop::BufferRef> rings;
    for (const te::Tensor& t : stages_) {
      if (!is_at(*t) || of(*t).consumer != stage->name || of(*t).level != static_cast<int>(level) + 1 ||
          of(*t).fold.empty())
        continue;
      rings.push_back(open_ring(t, stage, level, ranges));
    }
    loop::Stmts before;
    std::vector<loop::BufferRef> buffers;
    for (const te::Tensor& t : stages_) {  // topological: producers first
      if (!is_at(*t) || of(*t).consumer != stage->name || of(*t).level != static_cast<int>(level)) continue;
      if (lane_)
        refuse("place it before the vector loop",
               "stage '{}' is placed inside the vector loop of '{}': each lane would compute it", t->name, stage->name);
      if (of(*t).fold.empty())
        buffers.push_back(place(t, stage, level, ranges, before));
      else
        slide(t, stage, level, ranges, before);
    }
    before.push_back(rest(ranges));
    loop::Stmt body = loop::block(std::move(before));
    for (size_t i = buffers.size(); i-- > 0;) body = loop::alloc(buffers[i], body);
    for (size_t i = rings.size(); i-- > 0;) body = loop::alloc(rings[i], body);
    return body;
  }

  loop::BufferRef new_buffer(const te::Tensor& t, const Region& region, Local& local, int ring_dim, int64_t ring_size) {
    const StageSchedule& s = of(*t);
    loop::Buffer b;
    b.name = t->name, b.dtype = t->dtype;
    b.scope = s.storage == Storage::Registers ? loop::Scope::Register
              : s.storage == Storage::Stack   ? loop::Scope::Stack
                                              : loop::Scope::Scratch;
    int vector_dim = -1;
    for (const Loop& l : s.loops)
      if (l.kind == LoopKind::Vector)
        for (size_t d = 0; d < t->axes.size(); ++d)
          if (t->axes[d].var->name == l.axis) vector_dim = static_cast<int>(d);
    for (size_t d = 0; d < t->axes.size(); ++d)
      if (static_cast<int>(d) != vector_dim) local.order.push_back(static_cast<int>(d));
    if (vector_dim >= 0) local.order.push_back(vector_dim);
    int64_t lanes = std::max<int64_t>(1, target_.vector_bytes / std::max(1, t->dtype.bytes()));
    for (int d : local.order) {
      Expr extent = d == ring_dim ? imm(ring_size) : region.dims[d].extent;
      // The most that it can be.
      if (std::optional<int64_t> most = scalar::interval(extent, bounds_).max; most && *most <= int64_t{1} << 24)
        extent = imm(std::max<int64_t>(*most, 0));
      if (!scalar::is_int(extent))
        refuse("place it at the root, or inside a loop that leaves a constant extent",
               "local storage of stage '{}' would have the extent {} along '{}', which has no constant bound", t->name,
               scalar::str(extent), t->axes[d].var->name);
      b.shape.push_back(
          d == vector_dim
              ? imm(round_up(extent->ivalue,
                             std::min<int64_t>(lanes, std::bit_ceil(static_cast<uint64_t>(extent->ivalue)))))
              : extent);
    }
    // Rows that lie 1024 bytes apart would meet in a few sets of the L1 cache.
    constexpr int64_t apart = 1024, line = 64;
    int64_t rows = 1;
    for (size_t d = 0; d + 1 < b.shape.size(); ++d) rows *= b.shape[d]->ivalue;
    if (s.storage != Storage::Registers && !b.shape.empty() && rows >= 4 &&
        b.shape.back()->ivalue * b.dtype.bytes() % apart == 0)
      b.shape.back() = imm(b.shape.back()->ivalue + line / b.dtype.bytes());
    for (size_t d = 0; d < t->axes.size(); ++d) local.origin.push_back(region.dims[d].min);
    local.ring_dim = ring_dim, local.ring_size = ring_size;
    loop::BufferRef made(new loop::Buffer(std::move(b)));
    if (planted_mutation == Mutation::AliasBuffers && made->scope != loop::Scope::Register) {
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
    return made;
  }

  loop::BufferRef place(const te::Tensor& t, const te::Tensor& consumer, size_t level, const Ranges& ranges,
                        loop::Stmts& before) {
    Region region = regions_.required(t, consumer, level, ranges);
    if (planted_mutation == Mutation::RegionShort && of(*t).storage != Storage::Registers)
      for (Range& r : region.dims)
        if (scalar::is_int(r.extent) && r.extent->ivalue > 1) {
          Local full;
          loop::BufferRef buffer = new_buffer(t, region, full, -1, 0);
          r.extent = imm(r.extent->ivalue - 1);
          locals_[t.get()] = full;
          before.push_back(loops(t, 0, regions_.region_ranges(t, region)));
          return buffer;
        }
    Local local;
    loop::BufferRef buffer = new_buffer(t, region, local, -1, 0);
    locals_[t.get()] = local;
    Ranges needed = regions_.region_ranges(t, region);
    bool nothing = std::any_of(t->axes.begin(), t->axes.end(), [&](const te::Axis& a) {
      return scalar::is_int(needed.at(a.var.get()).extent, 0);  // its reader's guard keeps it from all of it
    });
    if (!nothing) before.push_back(loops(t, 0, needed));
    return buffer;
  }

  int fold_dim(const te::Tensor& t) const {
    for (size_t d = 0; d < t->axes.size(); ++d)
      if (t->axes[d].var->name == of(*t).fold) return static_cast<int>(d);
    refuse("", "stage '{}' folds along '{}', which is not one of its axes", t->name, of(*t).fold);
  }

  // Allocates the ring of a stage that slides in loop `level` of the consumer. Its size is what one iteration needs.
  loop::BufferRef open_ring(const te::Tensor& t, const te::Tensor& consumer, size_t level, const Ranges& ranges) {
    const StageSchedule& s = of(*consumer);
    if (level >= s.loops.size() || (s.loops[level].kind != LoopKind::Serial && s.loops[level].kind != LoopKind::Peeled))
      refuse("fold along a serial loop", "stage '{}' slides in loop {} of '{}', which is not serial", t->name, level,
             consumer->name);
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
    int d = fold_dim(t);
    for (const Loop& l : of(*t).loops)
      if (l.kind == LoopKind::Vector && l.axis == of(*t).fold)
        refuse("run the lanes along another axis, or place it without fold",
               "stage '{}' folds along '{}', and its lanes run along it too: they would wrap around the ring", t->name,
               l.axis);
    if (!scalar::is_int(region.dims[d].extent))
      refuse("place it at the root", "the ring of stage '{}' would have {} rows, which is not a constant", t->name,
             scalar::str(region.dims[d].extent));
    int64_t size = region.dims[d].extent->ivalue;
    if (planted_mutation == Mutation::RingShort && size > 1) --size;
    Local local;
    loop::BufferRef buffer = new_buffer(t, region, local, d, size);
    local.loops_around = open_.size();
    locals_[t.get()] = local;
    return buffer;
  }

  // One iteration of a sliding stage: rows that the previous iteration computed are still in the ring.
  void slide(const te::Tensor& t, const te::Tensor& consumer, size_t level, const Ranges& ranges, loop::Stmts& before) {
    if (!locals_.count(t.get()))
      refuse("", "stage '{}' folds, but loop {} of '{}' has no iterations to slide over", t->name, level,
             consumer->name);
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
    // A loop of one iteration is not there, and the ring is empty in each iteration of the loops around it.
    if (!t->before && open_.size() > local.loops_around && depends_on(rows.min, open_.back())) {
      Expr v = open_.back();
      Expr before_min = scalar::substitute(rows.min, {{v, v - 1}});
      if (!scalar::prove(scalar::le(before_min, rows.min), bounds_).value_or(false))
        refuse("place it without fold", "stage '{}' folds along '{}', but '{}' does not walk forwards over it", t->name,
               of(*t).fold, consumer->name);
      Expr end = rows.min + rows.extent;
      Expr previous_end = scalar::simplify(scalar::substitute(end, {{v, v - 1}}), bounds_);
      Expr begin = scalar::select(scalar::eq(v, imm(0)), rows.min,
                                  scalar::simplify(scalar::max(rows.min, previous_end), bounds_));
      rows = {begin, scalar::simplify(end - begin, bounds_), rows.limit, rows.guarded};
    }
    before.push_back(loops(t, 0, regions_.region_ranges(t, region)));
  }

  // --- bodies -----------------------------------------------------------------------------------------------------------

  loop::Stmt element(const te::Tensor& stage, const Ranges& ranges, bool init) {
    std::vector<Binding> bindings;
    Exprs at;
    for (const te::Axis& a : stage->axes) {
      const Range& r = ranges.at(a.var.get());
      if (!scalar::is_int(r.extent, 1))
        refuse(format("end its loops with {}/1", a.var->name),
               "the loops of stage '{}' do not finish axis '{}': {} elements are left", stage->name, a.var->name,
               scalar::str(r.extent));
      at.push_back(r.min);
      bindings.push_back({a.var, r.min});
    }
    for (const te::Axis& a : stage->reduce_axes) {
      if (init) break;
      const Range& r = ranges.at(a.var.get());
      if (!scalar::is_int(r.extent, 1))
        refuse(format("end its loops with {}/1", a.var->name),
               "the loops of stage '{}' do not finish axis '{}': {} elements are left", stage->name, a.var->name,
               scalar::str(r.extent));
      bindings.push_back({a.var, r.min});
    }
    auto [buffer, indices] = address(*stage, at);
    Expr value;
    if (init) {
      value = te::identity(stage->combiner, stage->dtype);
    } else {
      value = resolve(decided(scalar::substitute(bodies_.body(*stage), bindings)));
      if (stage->combiner != te::Combiner::None) value = te::combine(stage->combiner, read(buffer, indices), value);
    }
    loop::Stmt element = store(buffer, indices, value);
    for (const te::Axis& a : stage->axes)  // of an unrolled tile whose last rows may not exist
      if (const Range& r = ranges.at(a.var.get()); r.limit) element = loop::if_(lt(r.min, r.limit), element);
    return element;
  }

  // Without choices that are the same in all iterations of the loops around.
  Expr decided(const Expr& body) {
    return scalar::rewrite(body, [&](const Expr& e) -> Expr {
      if (e->kind != scalar::Kind::Select) return e;
      bool on_values = false;
      scalar::visit(e->args[0], [&](const Expr& n) { on_values |= n->kind == scalar::Kind::Load; });
      const std::optional<bool> known = on_values ? std::nullopt : scalar::prove(e->args[0], bounds_);
      return known ? e->args[*known ? 1 : 2] : e;
    });
  }

  loop::Stmt store(const loop::BufferRef& buffer, const Exprs& indices, const Expr& value) {
    bool all_lanes = buffer->scope == loop::Scope::Register;  // lanes past the end exist and are never read
    return loop::store(buffer, indices, value, all_lanes ? Expr{} : mask_);
  }

  // A load, masked where lanes past the end could touch memory that is not there.
  Expr read(const loop::BufferRef& buffer, const Exprs& indices, bool padded = false) {
    Expr value = scalar::load(buffer, indices);
    if (!mask_ || padded) return value;
    bool per_lane = false;
    for (const Expr& i : indices) per_lane |= depends_on(i, lane_);
    // In registers, lanes past the end exist along the last dimension.
    if (buffer->scope == loop::Scope::Register && !indices.empty() && depends_on(indices.back(), lane_)) return value;
    return per_lane ? scalar::select(mask_, value, imm(0, value->dtype)) : value;
  }

  std::pair<loop::BufferRef, Exprs> address(const TensorNode& tensor, const Exprs& at) {
    auto scan = scans_.find(&tensor);
    const TensorNode& t = scan == scans_.end() ? tensor : *scan->second;
    Exprs indices;
    if (auto it = locals_.find(&t); it != locals_.end()) {
      const Local& local = it->second;
      for (int d : local.order)
        indices.push_back(scalar::simplify(
            d == local.ring_dim ? floormod(at[d], local.ring_size) : at[d] - local.origin[d], bounds_));
      return {local.buffer, indices};
    }
    auto it = params_.find(&t);
    if (it == params_.end() && is_at(t))
      refuse(format("place '{}' at the root", t.name),
             "stage '{}' is computed inside {} loops of '{}', but '{}' needs it outside of them", t.name, of(t).level,
             of(t).consumer, root_->name);
    RELAY_CHECK(it != params_.end(), "stage '{}' is not a parameter of the kernel of '{}'", t.name, root_->name);
    for (const Expr& i : layouts_.at(t.name).physical_indices(at)) indices.push_back(scalar::simplify(i, bounds_));
    return {it->second, indices};
  }

  // Replaces loads of te tensors by loads of buffers.
  Expr resolve(const Expr& e) {
    return scalar::rewrite(e, [&](const Expr& n) -> Expr {
      if (n->kind != scalar::Kind::Load) return n;
      const TensorNode* t = dynamic_cast<const TensorNode*>(n->source.get());
      if (!t) return n;
      auto [buffer, indices] = address(*t, n->args);
      // In a layout of whole blocks of lanes, filled up with zeros, lanes past the end read what is there, if the vector begins at
      // a multiple of the lanes: then it stays in its block.
      bool padded = false;
      if (auto it = layouts_.find(t->name);
          it != layouts_.end() && !locals_.count(t) && !it->second.dims.empty() && lane_) {
        const LayoutDim& last = it->second.dims.back();
        Expr begin = scalar::simplify(scalar::substitute(indices.back(), {{lane_, imm(0)}}), bounds_);
        padded = last.inner && last.block % lanes_ == 0 &&
                 scalar::is_int(scalar::simplify(floormod(begin, imm(lanes_)), bounds_), 0) &&
                 scalar::equal(scalar::simplify(indices.back() - begin, bounds_), lane_);
        for (size_t i = 0; i + 1 < indices.size(); ++i) padded &= !depends_on(indices[i], lane_);
      }
      return read(buffer, indices, padded);
    });
  }

  std::string fresh(const std::string& axis) {
    return format("{}{}", axis, counter_[axis]++ ? std::to_string(counter_[axis] - 1) : "");
  }

  const te::Tensors& stages_;
  const std::map<std::string, Layout>& layouts_;
  const TargetDesc& target_;
  Bounds bounds_;  // of the loop variables opened so far
  Expanded bodies_;
  Regions regions_;
  te::Tensor root_;
  std::unordered_map<const TensorNode*, loop::BufferRef> params_;
  std::unordered_map<const TensorNode*, const TensorNode*> scans_;  // what stands for a scan in its own body
  std::unordered_map<const TensorNode*, Local> locals_;
  std::map<std::string, int> counter_;
  Exprs parallel_digits_;
  Exprs open_;        // variables of the loops around, innermost last
  Expr lane_, mask_;  // inside a vector loop
  int64_t lanes_ = 1;
};

}  // namespace

Result<std::vector<BuiltKernel>> build_kernels(const te::Tensors& stages, const Schedule& schedule,
                                               const std::map<std::string, Layout>& layouts, const TargetDesc& target,
                                               const std::string& name) {
  std::vector<BuiltKernel> out;
  try {
    check_places(stages, schedule);
    for (const te::Tensor& t : stages) {
      if (t->is_placeholder()) continue;
      auto it = schedule.stages.find(t->name);
      if (it == schedule.stages.end() || it->second.place != Place::Root) continue;
      out.push_back(KernelBuilder(stages, schedule, layouts, target)
                        .build(t, out.empty() ? name : format("{}_{}", name, out.size())));
      for (const Diagnostic& d : loop::verify(out.back().kernel)) return d;
    }
  } catch (const IllegalSchedule& e) {
    return e.diagnostic;
  }
  return out;
}

}  // namespace relay::lower
