// Of a group in blocks what reads their sums is scheduled as any group; inside of its loop over rows stands
//
//   for each row m
//     for each block b                               4 KB or so
//       sum_block, then squares_block                in lanes (row_reduction.cpp)
//       blocks[m, 0, b] = sum_block, blocks[m, 1, b] = squares_block
//     sum[m], mean[m], squares[m], scale[m]          of the blocks
//     out[m, k] = ...
#include <algorithm>

#include "relay/lower/algorithms/moments/moments.h"
#include "relay/lower/rules/rules.h"

namespace relay::lower {

namespace {

// Inside of how many loops of which stage both sums are computed.
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

// The second pass reads L1 only: meanwhile the next block comes from memory, at each step as much as the step reads.
// From L3 it comes soon enough by itself (instance norm of 64 MB: 1.1 to 1.2 times as fast; group norm of 16 MB: 0.9.
// Zen 4).
void fetch_next_block(StageSchedule& squares, const StageFacts& facts, const TargetDesc& target) {
  const std::string block = facts.stage->axes.back().var->name;
  for (Loop& l : squares.loops)
    if (l.kind == LoopKind::Unroll && is_reduce_axis(*facts.stage, l.axis)) l.kind = LoopKind::Serial;
  for (const LoadFact& l : facts.loads)
    if (l.tensor->is_placeholder() && l.axes.count(block) &&
        !stays_in_l3(target, static_cast<double>(te::bytes(*l.tensor))) &&
        std::none_of(squares.prefetch.begin(), squares.prefetch.end(),
                     [&](const Prefetch& p) { return p.array == l.tensor->name; }))
      squares.prefetch.push_back({l.tensor->name, block, 1});
}

void place_blocks(ScheduleDraft& draft, const MomentsInBlocks& in, const Inside& loops) {
  const std::string blocks = in.blocks->name;
  draft.outputs = te::replace(draft.outputs, {{draft.stage(blocks), in.blocks}});
  draft.layouts.erase(blocks);  // no longer an array
  for (const te::Tensor& t : draft.stages())
    if (!t->is_placeholder()) draft.schedule.stages[t->name];  // inline, where it is new
  StageSchedule& s = draft.schedule.stages[blocks];
  s.place = Place::At, s.consumer = loops.consumer, s.level = loops.level, s.storage = Storage::Scratch;
  for (const te::Axis& a : in.blocks->axes) s.loops.push_back({a.var->name, 1});
  std::swap(s.loops.end()[-2], s.loops.end()[-1]);
  s.loops.back().kind = LoopKind::Unroll;
  const int level = static_cast<int>(s.loops.size()) - 1;
  for (const te::Tensor& sum : {in.sum, in.squares}) {
    const te::Tensor r = draft.stage(sum->name);
    Schedule now = draft.schedule;
    for (const te::Tensor& stored : {in.sum, in.squares}) now.stages[stored->name].place = Place::Root;
    const StageFacts facts = facts_of(r, expand(draft.stages(), now));
    const LaneParts parts = split_lanes(draft, r, facts);
    place_parts(draft, parts, blocks, level);
    if (sum == in.squares)
      fetch_next_block(draft.schedule.stages[(parts.acc ? parts.acc : r)->name], facts, *draft.target);
  }
  draft.note(format("{}, {}: in one pass, in {} blocks", in.sum->name, in.squares->name,
                    scalar::str(in.blocks->shape.back())));
}

}  // namespace

void schedule_moments(ScheduleDraft& draft) {
  const int64_t terms = draft.form.as<int64_t>();
  draft.form.schedule = nullptr;
  if (const std::optional<Moments> moments = find_moments(draft.outputs))
    if (const std::optional<MomentsInBlocks> in = in_blocks(draft.outputs, *moments, terms)) {
      ScheduleDraft reader = draft;
      reader.outputs = in->outputs;
      apply_rules(reader);
      if (const std::optional<Inside> loops = loops_around(reader, *moments)) {
        place_blocks(reader, *in, *loops);
        draft = std::move(reader);
        return;
      }
    }
  draft.note("not in blocks: the loops have another form");
  apply_rules(draft);
}

}  // namespace relay::lower
