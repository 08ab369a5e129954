// Elementwise work and data movement: walk the output in storage order, lanes along its contiguous axis, a few vectors
// per step, whole rows per task.
//
// If the inputs are contiguous along another axis (a transposition, a change of layout), squares are computed with
// lanes along that one, as `tile` in registers, and transposed there:
//
//   for v in steps of 16, for u in steps of 16
//     tile[v, u] = f(in[.., u])     16 x 16, lanes along u
//     out[u, v] = tile[v, u]        lanes along v
//
// If an input is contiguous along a part of the output's last axis (rows of channels-last images are concatenated: i /
// 45 of out[n, i] is the channel), the output is viewed as an array with that part as a separate axis, out[n, c, p].
//
// If the last axis does not fill whole vectors, it is joined with those in front of it (views/lane_blocks.cpp). If the
// length of rows is unknown, views/join_rows.cpp has joined them all into one.
//
// If only some inputs are contiguous along another axis, or at other places than a square's (u / 2, as in enlarging an
// image), these are copied first, transposed, so that no vector is gathered element by element.
#include <algorithm>

#include "relay/lower/rules/rule_functions.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

// Inputs that only v moves have one element for a whole row of u: they are read in any order.
std::string contiguous_in_inputs(const ScheduleDraft& draft, const te::Tensor& e, const std::string& v) {
  std::string u;
  for (const LoadFact& l : facts_of(e, draft.expanded(e)).loads) {
    if (!l.axes.count(v) || l.axes.size() == 1) continue;
    const Layout& layout = draft.layout(l.tensor);
    if (layout.dims.empty() || layout.dims.back().inner) return "";
    const auto& last = l.coefficients[contiguous_dim(*l.tensor, layout)];
    if (!last || last->count(v)) return "";
    std::string axis;  // heads side by side, h * 64 + d: along d
    for (const auto& [name, step] : *last)
      if (step == 1) axis = name;
    if (axis.empty() || (!u.empty() && axis != u)) return "";
    u = axis;
  }
  return u;
}

// True if the body selects by a condition on `v` alone, as a concatenation does.
static bool chooses_along(const ScheduleDraft& draft, const te::Tensor& e, const std::string& v) {
  bool found = false;
  scalar::visit(draft.expanded(e).body(*e), [&](const Expr& n) {
    if (n->kind != scalar::Kind::Select) return;
    const Exprs vars = scalar::free_vars(n->args[0]);
    bool loads = false;
    scalar::visit(n->args[0], [&](const Expr& c) { loads |= c->kind == scalar::Kind::Load; });
    found |= !loads && vars.size() == 1 && vars[0]->name == v;
  });
  return found;
}

// Prefetches for squares transposed along u and v: their rows are more streams than a processor follows, so those of
// the next place are fetched. A network's own input comes from memory, however small.
static void fetch_next_place(ScheduleDraft& draft, const te::Tensor& e, const std::string& tile,
                             const std::vector<std::string>& order, const std::string& u, const std::string& v) {
  constexpr int parts = 8;  // of L2: networks' inputs of a few hundred kilobytes are not in it yet
  std::string next = u;
  for (const std::string& axis : order)
    if (axis != u && axis != v && extent_or(*find_axis(*e, axis), usual_rows) > 1) next = axis;
  const int64_t step = next == u ? draft.lanes(e->dtype) : 1;
  const te::Tensor reads = draft.stage(tile);
  const Expanded bodies = draft.expanded(reads);
  for (const te::Tensor& in : bodies.loads_of(*reads))
    if (in->is_placeholder()) prefetch_data(draft, tile, in->name, next, step, parts);
  prefetch_data(draft, e->name, e->name, next, step, parts);
}

// Turns e into a copy, of the same name, of its original computation in registers. False if nothing has to be
// transposed.
static bool transpose_squares(ScheduleDraft& draft, const te::Tensor& e, const std::vector<std::string>& order,
                              const std::string& v, const std::vector<bool>& parallel) {
  const int lanes = draft.lanes(e->dtype);
  if (!transposes_in_registers(e->dtype)) return false;
  const std::string u = contiguous_in_inputs(draft, e, v);
  if (u.empty() || extent_or(*find_axis(*e, u), usual_row) < 3) return false;
  te::TensorNode inside = *e;
  inside.name = e->name + "_tile";
  const te::Tensor tile(new te::TensorNode(std::move(inside)));
  draft.redirect(e, copy_stage(tile, e->name));

  StageSchedule& s = draft.schedule.stages[e->name];
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i] != u && parallel[i]) s.loops.push_back({order[i], 1, LoopKind::Parallel});
  const bool tasks_along_u = parallel[static_cast<size_t>(std::find(order.begin(), order.end(), u) - order.begin())];
  if (tasks_along_u) s.loops.push_back({u, lanes, LoopKind::Parallel});
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i] != u && !parallel[i] && order[i] != v) s.loops.push_back({order[i], 1});
  const bool all_parallel =
      std::all_of(s.loops.begin(), s.loops.end(), [](const Loop& l) { return l.kind == LoopKind::Parallel; });
  if (!tasks_along_u) s.loops.push_back({u, lanes, all_parallel ? LoopKind::Parallel : LoopKind::Serial});
  s.loops.push_back({v, lanes});
  StageSchedule& t = draft.schedule.stages[tile->name];
  t = {};
  t.place = Place::At, t.consumer = e->name, t.level = static_cast<int>(s.loops.size());
  s.loops.push_back({u, 1, LoopKind::Unroll});
  s.loops.push_back({v, 1, LoopKind::Vector});
  for (const std::string& axis : order)
    if (axis != u) t.loops.push_back({axis, 1, axis == v ? LoopKind::Unroll : LoopKind::Serial});
  t.loops.push_back({u, 1, LoopKind::Vector});
  if (extent_or(*find_axis(*e, v), usual_rows) >= lanes) fetch_next_place(draft, e, tile->name, order, u, v);
  draft.note(format("{}: elementwise, squares of {} transposed along {} and {}", e->name, lanes, u, v));
  return true;
}

// The axes of a result in the order of its storage.
struct LoopOrder {
  std::vector<std::string> axes;
  int vector = -1;             // the innermost of more than one element; others would leave the lanes empty
  std::vector<bool> parallel;  // those with enough elements inside for a task
};

static LoopOrder loop_order(const ScheduleDraft& draft, const te::Tensor& e) {
  constexpr int64_t least = min_task_elements;
  LoopOrder out;
  out.axes = storage_order(*e, draft.layout(e));
  for (int i = static_cast<int>(out.axes.size()) - 1; i >= 0 && out.vector < 0; --i)
    if (extent_or(*find_axis(*e, out.axes[i]), usual_row) > 1) out.vector = i;
  int64_t inner = 1;  // elements inside the current axis, or `least` if there are more
  out.parallel.assign(out.axes.size(), false);
  for (int i = static_cast<int>(out.axes.size()) - 1; i >= 0; --i) {
    out.parallel[i] = inner >= least && i != out.vector;
    inner = std::min(inner * std::min(extent_or(*find_axis(*e, out.axes[i]), usual_rows), least), least);
  }
  return out;
}

// A part of an axis v: v / step % extent.
struct AxisPart {
  int64_t step = 0, extent = 0;
  bool operator==(const AxisPart&) const = default;
};

// The part of v along which all inputs that v moves are contiguous; unset if there is no such part.
static std::optional<AxisPart> contiguous_part(const ScheduleDraft& draft, const te::Tensor& e, const te::Axis& v) {
  std::optional<AxisPart> found;
  auto is = [](const Expr& x, scalar::BinaryOp op) { return x->kind == scalar::Kind::Binary && x->binary == op; };
  for (const LoadFact& l : facts_of(e, draft.expanded(e)).loads) {
    if (!l.axes.count(v.var->name)) continue;
    const Layout& layout = draft.layout(l.tensor);
    if (layout.dims.empty() || layout.dims.back().inner) return std::nullopt;
    Expr index = l.load->args[contiguous_dim(*l.tensor, layout)];
    AxisPart part;
    if (is(index, scalar::BinaryOp::FloorMod) && scalar::is_int(index->args[1]))
      part.extent = index->args[1]->ivalue, index = index->args[0];
    if (!is(index, scalar::BinaryOp::FloorDiv) || index->args[0] != v.var || !scalar::is_int(index->args[1]))
      return std::nullopt;
    part.step = index->args[1]->ivalue;
    if (part.step <= 1 || v.extent->ivalue % part.step) return std::nullopt;
    if (!part.extent) part.extent = v.extent->ivalue / part.step;
    if (v.extent->ivalue / part.step % part.extent || (found && *found != part)) return std::nullopt;
    found = part;
  }
  return found;
}

// Views the output `e`, stored as written, so that a part of its last axis v, along which inputs are contiguous, is a
// separate axis, and transposes squares. Returns false and changes nothing if there is no such part.
static bool transpose_part(ScheduleDraft& draft, const te::Tensor& e, const te::Axis& v) {
  if (e->axes.back().var != v.var || !scalar::is_int(v.extent) || !may_be_viewed(draft, e)) return false;
  const std::optional<AxisPart> part = contiguous_part(draft, e, v);
  if (!part) return false;

  const te::Tensor viewed = with_axis_split(
      *e, e->axes.size() - 1,
      {{"_outer", v.extent->ivalue / (part->step * part->extent)}, {"_part", part->extent}, {"_inner", part->step}});
  ScheduleDraft viewed_draft = draft;
  viewed_draft.view_output(e, viewed);
  const LoopOrder loops = loop_order(viewed_draft, viewed);
  if (!transpose_squares(viewed_draft, viewed, loops.axes, loops.axes[loops.vector], loops.parallel)) return false;
  draft = std::move(viewed_draft);
  return true;
}

// The stage with its own loads of `from` replaced by loads of `to`.
static te::Tensor reading(const te::TensorNode& stage, const te::Tensor& from, const te::Tensor& to) {
  te::TensorNode now = stage;
  now.body = scalar::rewrite(stage.body, [&](const Expr& e) {
    const bool loads =
        e->kind == scalar::Kind::Load && e->source.get() == static_cast<const scalar::Source*>(from.get());
    return loads ? scalar::load(to, e->args) : e;
  });
  return te::Tensor(new te::TensorNode(std::move(now)));
}

// Makes transposed copies of the inputs whose elements would be gathered along v: each moves with v along one
// dimension, which is not the contiguous one, and is not larger than the result. The copies are separate kernels.
// Returns the new e.
static te::Tensor copy_gathered_inputs(ScheduleDraft& draft, const te::Tensor& e, const std::string& v) {
  if (!transposes_in_registers(e->dtype) || extent_or(*find_axis(*e, v), 1) < draft.lanes(e->dtype) / 2) return e;
  struct Moves {
    te::Tensor in;
    int dim;  // moves with v; -1: several do
  };
  std::map<std::string, Moves> inputs;
  for (const LoadFact& l : facts_of(e, draft.expanded(e)).loads) {
    const te::TensorNode& in = *l.tensor;
    if (!l.axes.count(v) || !in.is_placeholder() || draft.constants.count(in.name) ||
        !transposes_in_registers(in.dtype) || te::bytes(in) > te::bytes(*e))
      continue;
    int moves = -1;
    bool plain = true;
    for (size_t d = 0; d < l.coefficients.size(); ++d) {
      const std::optional<std::map<std::string, int64_t>>& c = l.coefficients[d];
      const Exprs vars = scalar::free_vars(l.load->args[d]);
      if (std::none_of(vars.begin(), vars.end(), [&](const Expr& var) { return var->name == v; })) continue;
      plain &= c && c->size() == 1 && c->at(v) == 1 && moves == -1;
      moves = static_cast<int>(d);
    }
    Moves& of_input = inputs.try_emplace(in.name, Moves{l.tensor, plain ? moves : -1}).first->second;
    if (of_input.dim != moves) of_input.dim = -1;
  }
  const std::string name = e->name;
  for (const auto& [input, moves] : inputs) {
    const auto& [in, dim] = moves;
    const Layout& layout = draft.layout(in);
    if (dim < 0 || dim == contiguous_dim(*in, layout) ||
        std::any_of(layout.dims.begin(), layout.dims.end(), [](const LayoutDim& d) { return d.block > 0; }))
      continue;
    const te::Tensor now = draft.stage(name);
    // Other kernels, which may be scheduled for the original, continue to read it.
    const Expanded bodies = expand(draft.stages(), draft.schedule);
    bool elsewhere = false;
    for (const te::Tensor& t : draft.stages()) {
      if (!t->is_placeholder() && t != now && draft.schedule.stages[t->name].place != Place::Inline)
        for (const te::Tensor& read : bodies.loads_of(*t)) elsewhere |= read == in;
    }
    const te::Tensors direct = te::inputs(now);
    if (draft.copies.count(input) || (elsewhere && std::find(direct.begin(), direct.end(), in) == direct.end()))
      continue;
    Layout transposed;
    for (const LayoutDim& d : layout.dims)
      if (d.dim != dim) transposed.dims.push_back(d);
    transposed.dims.push_back({dim});
    const te::Tensor copy = copy_stage(in, unused_name(draft, input + "_transposed"));
    ScheduleDraft copied = draft;
    copied.copies[input] = copy->name;
    copied.redirect(elsewhere ? now : in, elsewhere ? reading(*now, in, copy) : copy);
    copied.layouts[copy->name] = transposed;
    copied.schedule.stages[copy->name].place = Place::Root;
    const LoopOrder loops = loop_order(copied, copy);
    if (loops.vector >= 0 && transpose_squares(copied, copy, loops.axes, loops.axes[loops.vector], loops.parallel))
      draft = std::move(copied);
  }
  return draft.stage(name);
}

// Makes tasks of short rows: as many as make a task worthwhile, if there are or may be several tasks.
static void add_task_of_rows(const te::Tensor& e, const std::vector<std::string>& order, int vector,
                             const std::vector<bool>& parallel, std::vector<Loop>& loops) {
  if (vector <= 0 || std::any_of(parallel.begin(), parallel.end(), [](bool p) { return p; })) return;
  int64_t inner = 1;
  for (size_t i = 1; i < order.size(); ++i) inner *= extent_or(*find_axis(*e, order[i]), usual_rows);
  const int64_t rows = (task_elements + inner - 1) / std::max<int64_t>(inner, 1);
  const Expr& extent = find_axis(*e, order[0])->extent;
  if (inner > 0 && (!scalar::is_int(extent) || extent->ivalue >= 2 * rows))
    loops.push_back({order[0], rows, LoopKind::Parallel});
}

// The number of vectors along `axis` in an iteration of the innermost loop: four, or another number if that is decided.
static int64_t vectors_at_once(ScheduleDraft& draft, const te::Tensor& e, const std::string& axis) {
  const int64_t row = axis.empty() ? 1 : extent_or(*find_axis(*e, axis), usual_row), lanes = draft.lanes(e->dtype);
  constexpr int64_t usual = 4, most = 8;  // with more, the code is longer than a loop buffer
  std::vector<int64_t> counts{usual};
  for (int64_t count = 1; count <= most; count *= 2)
    if (count != usual && count * lanes <= row) counts.push_back(count);
  if (row < 2 * lanes) return counts[0];
  ScheduleChoice choice{e->name, "vectors", {}};
  for (const int64_t count : counts) choice.options.push_back({format("{}", count)});
  return counts[draft.choose(std::move(choice))];
}

static void schedule_elements(ScheduleDraft& draft, const te::Tensor& result) {
  te::Tensor e = result;
  draft.schedule.stages[e->name].place = Place::Root;
  draft.schedule.stages[e->name].loops.clear();
  const int64_t block = choose_lane_block(draft, e);
  e = draft.stage(e->name);
  const auto [order, vector, parallel] = loop_order(draft, e);
  if (vector >= 0 && block == 0) {
    if (transpose_squares(draft, e, order, order[vector], parallel)) return;
    if (transpose_part(draft, e, *find_axis(*e, order[vector]))) return;
    e = copy_gathered_inputs(draft, e, order[vector]);
  }
  StageSchedule& s = draft.schedule.stages[e->name];
  int lanes = draft.lanes(e->dtype);
  // A single row that is long, or may be: split it into tasks.
  int64_t row = vector < 0 ? 1 : extent_or(*find_axis(*e, order[vector]), usual_row);
  const bool open = order.size() == 1 && !scalar::is_int(e->axes[0].extent);
  bool cut_row = vector >= 0 && (open || row >= 2 * task_elements) &&
                 std::none_of(parallel.begin(), parallel.end(), [](bool p) { return p; });
  const int64_t step = block ? block : vectors_at_once(draft, e, vector < 0 ? "" : order[vector]) * lanes,
                whole_steps = (task_elements + step - 1) / step;
  if (cut_row) s.loops.push_back({order[vector], whole_steps * step, LoopKind::Parallel});
  if (!cut_row) add_task_of_rows(e, order, vector, parallel, s.loops);
  for (size_t i = 0; i < order.size(); ++i)
    if (parallel[i]) s.loops.push_back({order[i], 1, LoopKind::Parallel});
  for (size_t i = 0; i < order.size(); ++i)
    if (!parallel[i] && static_cast<int>(i) != vector) s.loops.push_back({order[i], 1});
  if (vector >= 0) {
    // With all vectors of a row written out, each has a known choice: a concatenation reads one input, not all of them.
    constexpr int64_t max_vectors = 64;  // fetching longer code takes longer than selecting
    const bool whole_row = !cut_row && row <= max_vectors * lanes &&
                           scalar::is_int(find_axis(*e, order[vector])->extent) &&
                           chooses_along(draft, e, order[vector]);
    if (block ? row > block : row >= step && !whole_row) s.loops.push_back({order[vector], step});
    add_vector(s.loops, order[vector], lanes);
  }
  draft.note(format("{}: elementwise, {} lanes along {}", e->name, lanes, vector < 0 ? "nothing" : order[vector]));
}

RuleCandidates elementwise_rule(const ScheduleDraft&, const te::Tensor& e) {
  return only([&e](ScheduleDraft& draft) { schedule_elements(draft, e); });
}

}  // namespace relay::lower
