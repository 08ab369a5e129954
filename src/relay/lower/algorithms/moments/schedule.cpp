// The readers of the block sums in a group in blocks are scheduled as in any group. Their loop over rows contains
//
//   for each row m
//     for each block b                               about 4 KB
//       sum_block, then squares_block                in lanes (row_reduction.cpp)
//       blocks[m, 0, b] = sum_block, blocks[m, 1, b] = squares_block
//     sum[m], mean[m], squares[m], scale[m]          of the blocks
//     out[m, k] = ...
#include <algorithm>

#include "relay/lower/algorithms/moments/moments.h"
#include "relay/lower/rules/rules.h"

namespace relay::lower {

namespace {

// The stage and the number of its loops inside which both sums are computed.
struct Inside {
  std::string consumer;
  int level = 0;
};
std::optional<Inside> loops_around(const ScheduleDraft& draft, const Moments& moments) {
  const StageSchedule &sum = draft.schedule.stages.at(moments.sum->name),
                      &squares = draft.schedule.stages.at(moments.squares->name);
  if (sum.place != Place::At || squares.place != Place::At || sum.consumer != squares.consumer ||
      sum.level != squares.level || draft.schedule.stages.at(sum.consumer).place != Place::Root)
    return std::nullopt;
  return Inside{sum.consumer, sum.level};
}

// The second pass, `stage`, reads only L1. Meanwhile the next block comes from memory: each step fetches as much as it
// reads. Data in L3 arrives in time without that (instance norm of 64 MB: 1.1 to 1.2 times as fast; group norm of 16
// MB: 0.9; channels-last images of 100 MB: 1.6. Zen 4).
void fetch_next_block(ScheduleDraft& draft, const std::string& stage, const StageFacts& facts, const te::Axis& block) {
  StageSchedule& s = draft.schedule.stages[stage];
  const std::string& along = block.var->name;
  for (Loop& l : s.loops)
    if (l.kind == LoopKind::Unroll && is_reduce_axis(*facts.stage, l.axis)) l.kind = LoopKind::Serial;
  for (const LoadFact& l : facts.loads)
    if (l.tensor->is_placeholder() && l.axes.count(along) &&
        !stays_in_l3(*draft.target, static_cast<double>(te::bytes(*l.tensor))) &&
        std::none_of(s.prefetch.begin(), s.prefetch.end(),
                     [&](const Prefetch& p) { return p.array == l.tensor->name; }))
      s.prefetch.push_back({l.tensor->name, along, 1});
}

// The facts of `r`, in which both sums of a block are stored.
StageFacts facts_of_stored(const ScheduleDraft& draft, const te::Tensor& r, const te::Tensors& sums) {
  Schedule now = draft.schedule;
  for (const te::Tensor& stored : sums) now.stages[stored->name].place = Place::Root;
  return facts_of(r, expand(draft.stages(), now));
}

// Places one of the sums of blocks, in lanes inside `level` loops of `consumer`. Blocks are their last axis.
void place_in_lanes(ScheduleDraft& draft, const te::Tensor& sum, const te::Tensors& sums, const std::string& consumer,
                    int level) {
  const te::Tensor r = draft.stage(sum->name);
  const StageFacts facts = facts_of_stored(draft, r, sums);
  const LaneParts parts = split_lanes(draft, r, facts);
  place_parts(draft, parts, consumer, level);
  if (sum == sums.back()) fetch_next_block(draft, (parts.acc ? parts.acc : r)->name, facts, r->axes.back());
}

void place_blocks(ScheduleDraft& draft, const MomentsInBlocks& in, const Inside& loops) {
  const std::string blocks = in.blocks->name;
  draft.replace(draft.stage(blocks), in.blocks);
  draft.layouts.erase(blocks);  // no longer an array
  for (const te::Tensor& t : draft.stages())
    if (!t->is_placeholder()) draft.schedule.stages[t->name];  // new ones are inline
  StageSchedule& s = draft.schedule.stages[blocks];
  s.place = Place::At, s.consumer = loops.consumer, s.level = loops.level, s.storage = Storage::Scratch;
  for (const te::Axis& a : in.blocks->axes) s.loops.push_back({a.var->name, 1});
  std::swap(s.loops.end()[-2], s.loops.end()[-1]);
  s.loops.back().kind = LoopKind::Unroll;
  const int level = static_cast<int>(s.loops.size()) - 1;
  for (const te::Tensor& sum : {in.sum, in.squares}) place_in_lanes(draft, sum, {in.sum, in.squares}, blocks, level);
  draft.note(format("{}, {}: in one pass, in {} blocks", in.sum->name, in.squares->name,
                    scalar::str(in.blocks->shape.back())));
}

// The axes of a result that contain blocks, one after the other.
void add_axes(std::vector<Loop>& loops, const te::TensorNode& stage, const std::optional<size_t>& without,
              LoopKind kind) {
  for (size_t d = 0; d < stage.axes.size(); ++d)
    if (d != without) loops.push_back({stage.axes[d].var->name, 1, kind});
}

// For each block and a few vectors of results, computes all sums, then all squares: the elements are in L1 by then.
void place_along_results(ScheduleDraft& draft, const te::Tensors& sums, size_t axis, int64_t results) {
  const te::Tensor sum_out = draft.outputs()[0], out = draft.outputs()[1];
  auto add_lanes = [&](std::vector<Loop>& loops, const te::TensorNode& stage) {
    add_vector(loops, stage.axes[axis].var->name, draft.lanes(stage.dtype));
  };
  StageSchedule& s = draft.schedule.stages[out->name];
  add_axes(s.loops, *out, axis, LoopKind::Parallel);
  s.loops.push_back({out->axes[axis].var->name, results, LoopKind::Serial});
  const int level = static_cast<int>(s.loops.size());
  add_lanes(s.loops, *out);
  for (const te::Tensor& t : {sums[0], sums[1], sum_out}) {
    StageSchedule& at = draft.schedule.stages[t->name];
    at.place = Place::At, at.consumer = out->name, at.level = level;
    at.storage = t == sum_out ? Storage::Array : Storage::Registers;
    add_axes(at.loops, *t, axis, LoopKind::Serial);
    for (const te::Axis& k : t->reduce_axes) at.loops.push_back({k.var->name, 1});
    add_lanes(at.loops, *t);
  }
  fetch_next_block(draft, sums[1]->name, facts_of_stored(draft, sums[1], sums), sums[1]->axes[0]);
}

// For each block, computes sum and squares in lanes along the row.
void place_along_rows(ScheduleDraft& draft, const te::Tensors& sums) {
  const std::string sum_out = draft.outputs()[0]->name, out = draft.outputs()[1]->name;
  StageSchedule& s = draft.schedule.stages[out];
  add_axes(s.loops, *draft.outputs()[1], std::nullopt, LoopKind::Parallel);
  const int level = static_cast<int>(s.loops.size());
  StageSchedule& first = draft.schedule.stages[sum_out];
  first.place = Place::At, first.consumer = out, first.level = level, first.storage = Storage::Array;
  add_axes(first.loops, *draft.outputs()[0], std::nullopt, LoopKind::Serial);
  for (const te::Tensor& sum : sums) place_in_lanes(draft, sum, sums, out, level);
}

}  // namespace

bool schedule_block_sums(ScheduleDraft& draft) {
  const BlockLanes lanes = draft.form.as<BlockLanes>();
  draft.form.schedule = nullptr;
  merge_sums(draft);
  te::Tensors sums;
  for (const te::Tensor& t : draft.stages()) {
    if (t->is_placeholder()) continue;
    draft.schedule.stages[t->name] = {};
    if (t->combiner != te::Combiner::None) sums.push_back(t);
  }
  draft.schedule.stages[draft.outputs()[1]->name].place = Place::Root;
  if (!lanes.axis) {
    place_along_rows(draft, sums);
  } else {
    const size_t axis = *lanes.axis + 1;  // after the block's axis
    const int64_t extent = extent_or(draft.outputs()[1]->axes[axis], usual_features);
    place_along_results(draft, sums, axis, results_of_block(*draft.target, draft.outputs()[1]->dtype, extent));
  }
  draft.note(format("{}, {}: in one pass", sums[0]->name, sums[1]->name));
  return true;
}

bool schedule_moments(ScheduleDraft& draft) {
  const int64_t terms = draft.form.as<int64_t>();
  draft.form.schedule = nullptr;
  if (const std::optional<Moments> moments = find_moments(draft.outputs()))
    if (const std::optional<MomentsInBlocks> in = in_blocks(draft.outputs(), *moments, terms)) {
      ScheduleDraft reader = draft;
      reader.set_outputs(in->outputs);
      apply_rules(reader);
      if (const std::optional<Inside> loops = loops_around(reader, *moments)) {
        place_blocks(reader, *in, *loops);
        draft = std::move(reader);
        return true;
      }
    }
  draft.note("not in blocks: the loops have another form");
  return false;
}

}  // namespace relay::lower
