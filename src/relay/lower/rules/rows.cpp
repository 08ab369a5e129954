// Several reductions over the same rows and what is between them, in one loop over rows: softmax, layer norm.
//
//   for each row m
//     top[m] = max(k) x[m, k]                       in lanes (row_reduction.cpp)
//     e[m, k] = exp(x[m, k] - top[m])               kept for the row: expensive, and read twice
//     sum[m] = sum(k) e[m, k]
//     scale[m] = 1 / sum[m]                         one value per row: computed once
//     out[m, k] = e[m, k] * scale[m]
//
// On devices with blocks of threads, a block computes a row. Its threads share the work along the row, and reduce by a
// tree in shared memory: parts of a reduction, one for each thread, then halves of them.
//
// If rows are groups of a longer axis, out[c, k] = (x[c, k] - mean[c // 2]) * .., the output is viewed as an array with
// an axis for the group and one for its members.
#include <algorithm>

#include "relay/lower/group/operations.h"
#include "relay/lower/rules/rule_functions.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

namespace {

struct Rows {
  te::Tensor out;
  std::vector<std::string> reductions;  // names, since splitting a reduction recreates stages
  Schedule flat;                        // everything but the reductions and the output inlined
  std::set<std::string> of_rows;        // axes of the output by which it reads reductions; the others run within a row
  std::vector<std::string> order;       // axes of the output as it is stored
  std::string v;                        // the lanes' axis, within a row
  std::vector<std::string> kept, once;  // stages that are stored for the row, and those of one value per row

  bool is_within(const te::Axis& axis) const { return !of_rows.count(axis.var->name); }
};

// True if `r` reads other reductions only at its own place, and is not a product of different tensors (a sum of squares
// is a contraction of a row with itself).
bool stays_in_row(const te::Tensor& r, const te::Tensors& reductions, const Expanded& bodies) {
  const StageFacts facts = facts_of(r, bodies);
  if (facts.contraction && !r->reduce_axes.empty() && !facts.left_loads.empty() && facts.left != facts.right)
    return false;
  auto own_place = [&](const Expr& index) {
    return scalar::is_int(index) ||
           std::any_of(r->axes.begin(), r->axes.end(), [&](const te::Axis& a) { return index == a.var; });
  };
  for (const te::Tensor& q : reductions)
    for (const Expr& load : bodies.loads(*r, *q))
      if (!std::all_of(load->args.begin(), load->args.end(), own_place)) return false;
  return true;
}

// True if each reduction reads only its own row of `o`, which has the shape of the output.
bool is_read_in_row(const te::Tensor& o, const Rows& rows, const te::Tensors& reductions, const Expanded& bodies) {
  for (const te::Tensor& r : reductions)
    for (const Expr& load : bodies.loads(*r, *o))
      for (size_t d = 0; d < load->args.size(); ++d) {
        const Expr& axis = rows.out->axes[d].var;
        if (!rows.of_rows.count(axis->name)) continue;
        for (const Expr& of_r : bodies.loads(*rows.out, *r)) {
          const auto at = std::find(of_r->args.begin(), of_r->args.end(), axis);
          if (at == of_r->args.end() || load->args[d] != r->axes[static_cast<size_t>(at - of_r->args.begin())].var)
            return false;
        }
      }
  for (const Expr& load : bodies.loads(*rows.out, *o))
    for (size_t d = 0; d < load->args.size(); ++d)
      if (load->args[d] != rows.out->axes[d].var) return false;
  return true;
}

std::optional<Rows> find_rows(const ScheduleDraft& draft) {
  const te::Tensors primary = draft.primary_outputs();
  if (primary.size() != 1 || primary[0]->is_placeholder() || primary[0]->combiner != te::Combiner::None ||
      has_program(draft.outputs()))
    return {};
  Rows rows;
  rows.out = primary[0];
  te::Tensors reductions;
  for (const te::Tensor& t : draft.stages()) {
    if (t->is_placeholder()) continue;
    const bool reduces = t->combiner != te::Combiner::None;
    if (reduces) reductions.push_back(t), rows.reductions.push_back(t->name);
    const bool stored = reduces || t == rows.out || draft.secondary_outputs.count(t->name);
    rows.flat.stages[t->name].place = stored ? Place::Root : Place::Inline;
  }
  if (reductions.empty() || !WrittenSize::is_small(draft.stages(), rows.flat)) return {};
  const Expanded bodies = expand(draft.stages(), rows.flat);
  bool reads = false;
  for (const te::Tensor& r : reductions) {
    if (!stays_in_row(r, reductions, bodies)) return {};
    for (const Expr& load : bodies.loads(*rows.out, *r)) {
      reads = true;
      for (const Expr& index : load->args) {
        if (scalar::is_int(index)) continue;
        if (index->kind != scalar::Kind::Var) return {};
        rows.of_rows.insert(index->name);
      }
    }
  }
  if (!reads || rows.of_rows.size() == rows.out->axes.size()) return {};
  rows.order = storage_order(*rows.out, draft.layout(rows.out));
  for (size_t i = rows.order.size(); i-- > 0 && rows.v.empty();)
    if (extent_or(*find_axis(*rows.out, rows.order[i]), usual_rows) > 1) rows.v = rows.order[i];
  if (rows.v.empty() || rows.of_rows.count(rows.v)) return {};
  for (const std::string& o : draft.secondary_outputs)
    if (!is_read_in_row(draft.stage(o), rows, reductions, bodies)) return {};
  return rows;
}

// The output in a view in which an axis is split in two, the first of which selects the reductions that it reads. Null
// if there is no such axis.
te::Tensor with_axis_of_rows(const ScheduleDraft& draft) {
  const te::Tensors primary = draft.primary_outputs();
  if (primary.size() != 1 || primary[0]->is_placeholder() || primary[0]->combiner != te::Combiner::None ||
      has_program(draft.outputs()) || !may_be_viewed(draft, primary[0]))
    return {};
  const te::Tensor out = primary[0];
  Schedule flat;
  te::Tensors reductions;
  for (const te::Tensor& t : draft.stages()) {
    if (t->is_placeholder()) continue;
    if (t->combiner != te::Combiner::None) reductions.push_back(t);
    flat.stages[t->name].place = t->combiner != te::Combiner::None || t == out ? Place::Root : Place::Inline;
  }
  if (reductions.empty() || !WrittenSize::is_small(draft.stages(), flat)) return {};
  const Expanded bodies = expand(draft.stages(), flat);
  for (const te::Tensor& r : reductions)
    for (const Expr& load : bodies.loads(*out, *r))
      for (const Expr& index : load->args)
        for (size_t d = 0; d < out->axes.size(); ++d) {
          if (index->kind != scalar::Kind::Binary || index->binary != scalar::BinaryOp::FloorDiv ||
              index->args[0] != out->axes[d].var || !scalar::is_int(index->args[1]) ||
              !scalar::is_int(out->axes[d].extent))
            continue;
          const int64_t part = index->args[1]->ivalue, extent = out->axes[d].extent->ivalue;
          if (part <= 1 || extent % part || extent == part) continue;
          return with_axis_split(*out, d, {{"_group", extent / part}, {"_inner", part}});
        }
  return {};
}

// Intermediate stages that are better stored for their readers than recomputed by each, if the length of a row is known
// and L2 has room.
std::vector<std::string> kept_for_a_row(const ScheduleDraft& draft, const Rows& rows) {
  int64_t elements = 1;
  for (const te::Axis& a : rows.out->axes) {
    if (!rows.is_within(a)) continue;
    if (!scalar::is_int(a.extent)) return {};
    elements *= a.extent->ivalue;
  }
  const te::Tensors stages = draft.stages();
  std::map<std::string, int> users;
  for (const te::Tensor& t : stages)
    if (!t->is_placeholder())
      for (const te::Tensor& in : te::inputs(t)) users[in->name]++;
  std::vector<std::string> kept;
  std::map<std::string, double> additions;  // per element, including recomputed stages
  for (const te::Tensor& t : stages) {
    if (t->is_placeholder() || t->combiner != te::Combiner::None) continue;
    double& own = additions[t->name] = count_operations(t->body, *draft.target);
    for (const te::Tensor& in : te::inputs(t))
      if (reads_pointwise(t, in)) own += additions[in->name];
    const int64_t bytes = t->dtype.bytes(), row = elements * bytes;
    if (t == rows.out || draft.secondary_outputs.count(t->name) || te::has_several_values(*t) ||
        row > part_of_l2(*draft.target, 4) || t->axes.size() != rows.out->axes.size() ||
        !pays_to_store(*draft.target, own, users[t->name], static_cast<double>(bytes), static_cast<double>(row)))
      continue;
    kept.push_back(t->name), own = 0;
  }
  return kept;
}

// Values of a row (a mean, a reciprocal, the logarithm of a sum) that are computed once per row.
std::vector<std::string> once_a_row(const ScheduleDraft& draft, const Rows& rows) {
  const te::Tensor first = draft.stage(rows.reductions[0]);
  std::vector<std::string> once;
  for (const te::Tensor& t : draft.stages()) {
    if (t->is_placeholder() || t->combiner != te::Combiner::None || t == rows.out ||
        t->axes.size() != first->axes.size())
      continue;
    bool a_row = false;
    for (const te::Tensor& in : te::inputs(t))
      a_row |= !in->is_placeholder() &&
               (in->combiner != te::Combiner::None || std::find(once.begin(), once.end(), in->name) != once.end());
    for (size_t d = 0; a_row && d < t->axes.size(); ++d)
      a_row = scalar::prove_equal(t->axes[d].extent, first->axes[d].extent).value_or(false);
    if (a_row) once.push_back(t->name);
  }
  return once;
}

// Adds the loops of `stage`, which has the output's axes under its own names, within a row.
void add_row(std::vector<Loop>& loops, const Rows& rows, const te::TensorNode& stage, int lanes) {
  auto name = [&](const std::string& axis) { return same_axis(*rows.out, axis, stage); };
  for (const std::string& a : rows.order)
    if (!rows.of_rows.count(a) && a != rows.v) loops.push_back({name(a), 1});
  if (extent_or(*find_axis(*rows.out, rows.v), usual_row) > lanes) loops.push_back({name(rows.v), lanes});
  loops.push_back({name(rows.v), 1, LoopKind::Vector});
}

// Returns the number of loops around a row.
int schedule_stages(ScheduleDraft& draft, const Rows& rows) {
  const int lanes = draft.lanes(rows.out->dtype);
  std::map<std::string, StageSchedule>& stages = draft.schedule.stages;
  stages.clear();
  for (const te::Tensor& t : draft.stages())
    if (!t->is_placeholder()) stages[t->name] = {};

  StageSchedule& out = stages[rows.out->name];
  out.place = Place::Root;
  for (const std::string& a : rows.order)
    if (rows.of_rows.count(a)) out.loops.push_back({a, 1, LoopKind::Parallel});
  const int level = static_cast<int>(out.loops.size());
  add_row(out.loops, rows, *rows.out, lanes);

  auto in_a_row = [&](const te::Tensor& t, Storage storage) -> StageSchedule& {
    StageSchedule& s = stages[t->name];
    s.place = Place::At, s.consumer = rows.out->name, s.level = level, s.storage = storage;
    return s;
  };
  std::vector<std::string> whole_rows = rows.kept;
  whole_rows.insert(whole_rows.end(), draft.secondary_outputs.begin(), draft.secondary_outputs.end());
  for (const std::string& name : whole_rows) {
    const te::Tensor stage = draft.stage(name);
    StageSchedule& s = in_a_row(stage, draft.secondary_outputs.count(name) ? Storage::Array : Storage::Scratch);
    for (size_t d = 0; d < stage->axes.size(); ++d)
      if (!rows.is_within(rows.out->axes[d])) s.loops.push_back({stage->axes[d].var->name, 1});
    add_row(s.loops, rows, *stage, lanes);
  }
  for (const std::string& name : rows.once) {
    const te::Tensor stage = draft.stage(name);
    StageSchedule& s = in_a_row(stage, Storage::Registers);
    for (const te::Axis& a : stage->axes) s.loops.push_back({a.var->name, 1});
  }
  return level;
}

// Facts of a reduction in its current state: other reductions, their parts and stored stages are not inlined.
StageFacts facts_now(const ScheduleDraft& draft, const Rows& rows, const te::Tensor& r) {
  Schedule now = rows.flat;
  for (const std::string& name : draft.secondary_outputs) now.stages[name].place = Place::Root;
  for (const std::vector<std::string>* placed : {&rows.kept, &rows.once})
    for (const std::string& name : *placed) now.stages[name].place = Place::Root;
  const te::Tensors stages = draft.stages();
  for (const te::Tensor& t : stages)
    if (!t->is_placeholder() && !now.stages.count(t->name)) now.stages[t->name].place = Place::Root;
  return facts_of(r, expand(stages, now));
}

}  // namespace

static void schedule_rows(ScheduleDraft& draft, Rows rows) {
  rows.kept = kept_for_a_row(draft, rows);
  rows.once = once_a_row(draft, rows);
  const int level = schedule_stages(draft, rows);
  for (const std::string& name : rows.reductions) {
    const te::Tensor r = draft.stage(name);
    place_parts(draft, split_lanes(draft, r, facts_now(draft, rows, r)), rows.out->name, level);
  }
  for (const std::string& o : draft.secondary_outputs) draft.note(format("{}: stored beside {}", o, rows.out->name));
  draft.secondary_outputs.clear();
  draft.note(format("{}: rows along {}, {} reductions and {} kept stages in one loop", rows.out->name, rows.v,
                    rows.reductions.size(), rows.kept.size()));
}

// The threads of a block for each row; 0 if rows are too short, or have stages that threads cannot share.
static int64_t threads_of_row(const ScheduleDraft& draft, const Rows& rows) {
  constexpr int64_t most = 256, least = 64;  // a shorter row leaves most threads of a block without work
  if (draft.target->blocks.threads == 0 || !draft.secondary_outputs.empty()) return 0;
  const int64_t length = extent_or(*find_axis(*rows.out, rows.v), usual_row);
  for (const std::string& name : rows.reductions)
    if (te::has_several_values(*draft.stage(name)) ||
        contiguous_axis(draft, facts_now(draft, rows, draft.stage(name))) < 0)
      return 0;
  int64_t threads = std::min<int64_t>(most, draft.target->blocks.threads);
  while (threads > least && threads / 2 >= length) threads /= 2;
  return length >= least ? threads : 0;
}

// Reduces `name` by all threads of the block that computes a row.
static void reduce_in_block(ScheduleDraft& draft, const Rows& rows, const std::string& name, int level,
                            int64_t threads) {
  const te::Tensor r = draft.stage(name);
  const int along = contiguous_axis(draft, facts_now(draft, rows, r));
  const LaneParts parts = split_lanes(draft, r, static_cast<size_t>(along), threads);
  // The parts are added up in registers, and then shared.
  const te::Tensor shared = copy_stage(parts.acc, parts.acc->name + "_shared");
  draft.redirect(parts.acc, shared);
  auto at = [&](const std::string& stage, const std::string& where, int inside, Storage storage) -> StageSchedule& {
    StageSchedule& s = draft.schedule.stages[stage];
    s = {};
    s.place = Place::At, s.consumer = where, s.level = inside, s.storage = storage;
    return s;
  };
  auto add_axes = [](std::vector<Loop>& loops, const te::TensorNode& stage, bool of_threads) {
    if (of_threads) loops.push_back({stage.axes.back().var->name, 1, LoopKind::Thread});
    for (size_t d = 0; d + 1 < stage.axes.size(); ++d) loops.push_back({stage.axes[d].var->name, 1});
    if (!of_threads) loops.push_back({stage.axes.back().var->name, 1});
  };
  StageSchedule& acc = at(parts.acc->name, shared->name, static_cast<int>(shared->axes.size()), Storage::Registers);
  for (const te::Axis& k : parts.acc->reduce_axes) acc.loops.push_back({k.var->name, 1});
  add_axes(acc.loops, *parts.acc, false);
  add_axes(at(shared->name, name, 0, Storage::Shared).loops, *shared, true);
  for (const te::Tensor& half : parts.halves) add_axes(at(half->name, name, 0, Storage::Shared).loops, *half, true);
  StageSchedule& result = at(name, rows.out->name, level, Storage::Registers);
  for (const te::Axis& k : parts.result->reduce_axes) result.loops.push_back({k.var->name, 1, LoopKind::Unroll});
  for (const te::Axis& a : parts.result->axes) result.loops.push_back({a.var->name, 1});
}

static void schedule_rows_in_blocks(ScheduleDraft& draft, Rows rows, int64_t threads) {
  rows.once = once_a_row(draft, rows);
  const int level = schedule_stages(draft, rows);
  std::vector<Loop>& loops = draft.schedule.stages[rows.out->name].loops;
  for (Loop& l : loops)
    if (l.kind == LoopKind::Parallel) l.kind = LoopKind::Block;
  std::erase_if(loops, [&](const Loop& l) { return l.axis == rows.v; });
  loops.push_back({rows.v, threads});
  loops.push_back({rows.v, 1, LoopKind::Thread});
  for (const std::string& name : rows.reductions) reduce_in_block(draft, rows, name, level, threads);
  draft.note(format("{}: a block for each row along {}, {} threads, {} reductions", rows.out->name, rows.v, threads,
                    rows.reductions.size()));
}

// The way to schedule rows that suits the target.
static void schedule_found(ScheduleDraft& draft, const Rows& rows) {
  if (const int64_t threads = threads_of_row(draft, rows))
    schedule_rows_in_blocks(draft, rows, threads);
  else
    schedule_rows(draft, rows);
}

RuleCandidates rows_rule(const ScheduleDraft& draft) {
  if (const std::optional<Rows> rows = find_rows(draft))
    return only([rows](ScheduleDraft& of) { schedule_found(of, *rows); });
  const te::Tensor viewed = with_axis_of_rows(draft);
  if (!viewed) return {};
  const te::Tensor out = draft.primary_outputs()[0];
  ScheduleDraft of_view = draft;
  of_view.view_output(out, viewed);
  const std::optional<Rows> rows = find_rows(of_view);
  if (!rows) return {};
  return only([out, viewed, rows](ScheduleDraft& of) { of.view_output(out, viewed), schedule_found(of, *rows); });
}

}  // namespace relay::lower
