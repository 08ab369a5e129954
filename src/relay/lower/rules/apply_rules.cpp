// Chooses the rules for a group: the stages that become kernels, the epilogue of each reduction, and copies into other
// layouts.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "relay/lower/group/operations.h"
#include "relay/lower/rules/rule_functions.h"
#include "relay/lower/schedule/schedule_rules.h"
#include "relay/te/axis_names.h"

namespace relay::lower {

namespace {

bool is_output(const ScheduleDraft& draft, const te::Tensor& t) {
  return !draft.secondary_outputs.count(t->name) && draft.group.is_output(t);
}

// Makes outputs that are placeholders separate stages, and, if `repeated`, those that occur a second time.
void copy_outputs(ScheduleDraft& draft, bool repeated) {
  std::unordered_set<const te::TensorNode*> before;
  for (size_t i = 0; i < draft.outputs().size(); ++i) {
    const te::Tensor& o = draft.outputs()[i];
    const bool is_repeated = !before.insert(o.get()).second;
    if (!o->is_placeholder() && !(repeated && is_repeated)) continue;
    te::Tensors outputs = draft.outputs();
    outputs[i] = copy_stage(o, unused_name(draft, "copy"));
    draft.set_outputs(std::move(outputs));
  }
}

// Makes every output a separate stage and gives every reduction an epilogue.
void add_copies(ScheduleDraft& draft) {
  copy_outputs(draft, /*repeated=*/true);
  std::set<std::string> claimed;
  std::vector<std::string> reductions;
  for (const te::Tensor& t : draft.stages())
    if (t->combiner != te::Combiner::None) reductions.push_back(t->name);
  for (size_t i = reductions.size(); i-- > 0;) {
    const te::Tensor r = draft.stage(reductions[i]);
    te::Tensor e = pointwise_end(draft.primary(), r, claimed);
    if (e == r) {
      te::Tensor copy = copy_stage(r, unused_name(draft, r->name + "_out"));
      if (auto it = draft.layouts.find(r->name); it != draft.layouts.end()) draft.layouts[copy->name] = it->second;
      draft.redirect(r, copy);
      e = copy;
    }
    claimed.insert(e->name);
  }
}

// The cost of inlining: the operations of bodies with the stages inlined into them, and the number of reads of stages.
class Inlining {
 public:
  Inlining(const te::Tensors& stages, const TargetDesc& target) : target_(target) {
    for (const te::Tensor& t : stages)
      if (!t->is_placeholder())
        te::visit(*t, [&](const Expr& n) {
          if (n->kind != scalar::Kind::Load) return;
          Exprs& reads = reads_[n->source.get()];  // at one place of one stage: once; more than two count as many
          if (reads.size() < 2 &&
              std::none_of(reads.begin(), reads.end(), [&](const Expr& e) { return scalar::equal(e, n); }))
            reads.push_back(n);
        });
  }

  // The largest number of nodes, indices included, of an expression that may be written twice.
  static constexpr int64_t max_repeated = 60;

  // Called in topological order, after the stages that t reads.
  bool is_expensive_to_repeat(const te::TensorNode& t) {
    int64_t& nodes = nodes_[&t];
    scalar::visit(t.body, [&](const Expr& n) {
      auto inside = n->kind == scalar::Kind::Load ? nodes_.find(n->source.get()) : nodes_.end();
      nodes = std::min(nodes + (inside == nodes_.end() ? 1 : inside->second), INT64_MAX / 4);
    });
    double& additions = additions_[&t] = count_operations(t.body, target_);
    for (const te::Tensor& in : te::inputs(te::Tensor(&t))) additions += additions_[in.get()];
    const double readers = static_cast<double>(reads_[&t].size()), all = static_cast<double>(te::bytes(t));
    return (readers > 1 &&
            (nodes > max_repeated || pays_to_store(target_, additions, readers, t.dtype.bytes(), all))) ||
           written_.add(t) > max_written;
  }
  void is_stored(const te::TensorNode& t) { nodes_[&t] = 1, additions_[&t] = 0, written_.set(t, 1); }

 private:
  const TargetDesc& target_;
  std::unordered_map<const scalar::Source*, Exprs> reads_;
  std::unordered_map<const scalar::Source*, int64_t> nodes_;
  std::unordered_map<const scalar::Source*, double> additions_;
  WrittenSize written_;
};

// The dimension of `in` that `r` reads with its own channels (dimension `channels` of the result) is stored last, or
// else the same dimension of `in`.
Layout channels_last(const te::TensorNode& r, const te::TensorNode& in, int channels) {
  int last = channels;
  scalar::visit(r.body, [&](const Expr& n) {
    if (n->kind != scalar::Kind::Load || n->source.get() != static_cast<const scalar::Source*>(&in)) return;
    for (size_t d = 0; d < n->args.size(); ++d)
      if (n->args[d] == r.axes[static_cast<size_t>(channels)].var) last = static_cast<int>(d);
  });
  return stored_last(static_cast<int>(in.shape.size()), last);
}

// True for windows from dimension 1 on, and none along the last one: images that are passed channels-last.
bool lies_channels_last(const te::TensorNode& r) {
  bool found = false;
  scalar::visit(r.body, [&](const Expr& n) {
    if (n->kind != scalar::Kind::Load || n->args.size() < 3) return;
    auto is_window = [&](const Expr& index) {
      bool data = false, reduced = false;
      for (const Expr& v : scalar::free_vars(index)) (is_reduce_axis(r, v->name) ? reduced : data) = true;
      return data && reduced;
    };
    found |= is_window(n->args[1]) && !is_window(n->args.back());
  });
  return found;
}

// A reduction and the epilogue under which it is computed, by name: adding stages recreates others.
struct Pair {
  std::string reduction, epilogue;
};

// True if the last stage of a region converts the one before it, and nothing else of the region, to a wider type.
bool widens_only(const te::Tensors& region) {
  if (region.size() < 3) return false;
  const te::Tensor &last = region.back(), &narrow = region[region.size() - 2];
  return narrow->dtype.bytes() < last->dtype.bytes() &&
         std::ranges::none_of(
             te::inputs(last),
             [&](const te::Tensor& in) { return in != narrow && std::ranges::find(region, in) != region.end(); });
}

// True for a list that is computed from the bits of constants, such as the fixed-point factors of channels: it is
// computed once, when the program is built.
bool is_list_of_constants(const ScheduleDraft& draft, const te::Tensor& t) {
  bool reads_bits = false;
  if (t->shape.size() != 1 || !t->body) return false;
  scalar::visit(t->body, [&](const Expr& e) { reads_bits = reads_bits || e->kind == scalar::Kind::Reinterpret; });
  if (!reads_bits) return false;
  const te::Tensors below = te::topological({t});
  return std::ranges::all_of(below, [&](const te::Tensor& in) {
    return in->is_placeholder() ? draft.constants.count(in->name) > 0 : in->combiner == te::Combiner::None;
  });
}

// Places: every reduction under its epilogue; expensive stages with several reading kernels are stored; the rest is
// inlined.
std::vector<Pair> place_stages(ScheduleDraft& draft) {
  const te::Tensors stages = draft.stages();
  const GroupView primary = draft.primary();
  Inlining inlining(stages, *draft.target);
  std::set<std::string> claimed, between;  // epilogues, and the stages that lead from a reduction to its own
  std::vector<Pair> pairs;
  std::set<const te::TensorNode*> of_programs;  // inputs of programs are stored, and so are programs
  for (const te::Tensor& t : stages)
    if (t->is_program()) {
      of_programs.insert(t.get());
      for (const te::Tensor& in : te::inputs(t)) of_programs.insert(in.get());
    }
  for (size_t i = stages.size(); i-- > 0;) {
    const te::Tensor& t = stages[i];
    if (t->is_placeholder() || t->combiner == te::Combiner::None) continue;
    te::Tensors region = pointwise_region(primary, t, claimed);
    // Rows between merged groups are stored as narrow as they are; the next group widens them.
    while (draft.form.is_merged() && region.back() != draft.outputs()[0] && widens_only(region)) region.pop_back();
    claimed.insert(region.back()->name);
    for (size_t k = 1; k + 1 < region.size(); ++k) between.insert(region[k]->name);
    pairs.push_back({t->name, region.back()->name});
  }
  for (const te::Tensor& t : stages) {
    if (t->is_placeholder()) continue;
    StageSchedule& s = draft.schedule.stages[t->name];
    s = {};
    if (t->combiner != te::Combiner::None)
      s.place = Place::Root;  // the rule moves it under its epilogue
    else if (claimed.count(t->name) || is_output(draft, t) || of_programs.count(t.get()))
      s.place = Place::Root;
    else if (draft.form.reads_halo.count(t->name))
      s.reads_halo = true;
    else if (is_list_of_constants(draft, t))
      s.place = Place::Root;
    else if (inlining.is_expensive_to_repeat(*t) && !between.count(t->name) && !te::has_several_values(*t))
      s.place = Place::Root;
    if (s.place == Place::Root) inlining.is_stored(*t);
    // An internal root is stored like the output it leads to.
    if (s.place == Place::Root && !draft.layouts.count(t->name))
      for (const te::Tensor& o : draft.outputs())
        if (o->shape.size() == t->shape.size()) {
          Layout l = draft.layout(o);
          l.low.clear(), l.high.clear(), l.halo_value = 0;
          draft.layouts[t->name] = l;
        }
  }
  return pairs;
}

// The stage that an inlined stage converts element by element to a wider type: quantised data; else the stage itself.
te::Tensor widened_from(const ScheduleDraft& draft, const te::Tensor& stage) {
  if (stage->is_placeholder() || draft.schedule.stages.at(stage->name).place != Place::Inline) return stage;
  for (const te::Tensor& in : te::inputs(stage))
    if (in->dtype.bytes() < stage->dtype.bytes() && reads_pointwise(stage, in)) return in;
  return stage;
}

// A copy of `in` whose axes have the names of those along which `r` reads it; a window's two axes get that of the
// result:
//
//   weight_packed[o, c, ky, kx] = weight[o, c, ky, kx]
//
// A weight has one axis of the result: its channels.
te::Tensor copy_for(const ScheduleDraft& draft, const te::TensorNode& r, const te::Tensor& in, const StageFacts& facts,
                    const std::string& channels) {
  const auto read = std::ranges::find_if(facts.loads, [&](const LoadFact& l) { return l.tensor == in; });
  if (read == facts.loads.end()) return copy_stage(in, unused_name(draft, in->name + "_copy"));
  std::vector<std::string> axes;
  for (size_t d = 0; d < read->coefficients.size(); ++d) {
    std::string& name = axes.emplace_back(format("i{}", d));  // its name so far
    if (const auto& of = read->coefficients[d])
      for (const auto& [axis, coefficient] : *of)
        if (of->size() == 1 || !is_reduce_axis(r, axis)) name = axis;
  }
  std::set<std::string> of_result = read->axes;
  std::erase_if(of_result, [&](const std::string& axis) { return is_reduce_axis(r, axis); });
  const bool is_weight = of_result == std::set<std::string>{channels};
  return te::named_axes(copy_stage(in, unused_name(draft, in->name + (is_weight ? "_packed" : "_nhwc"))),
                        format("{}", join(axes, " ")));
}

// A convolution or pooling reads its input in channels-last order without a guard: padding, unless the input has the
// halo, or a plain copy makes it so.
void copy_to_channels_last(ScheduleDraft& draft, const Pair& pair, const StageFacts& facts) {
  const te::Tensor r = draft.stage(pair.reduction), e = draft.stage(pair.epilogue);
  const int rank = static_cast<int>(e->shape.size());
  const bool moved = draft.layout(e).dims == Layout::channels_last(rank).dims;
  const bool reads_images = moved ? facts.contraction || facts.window : facts.window && lies_channels_last(*r);
  if (r->axes.size() < 3 || !reads_images) return;
  const int channel = moved ? 1 : rank - 1;
  for (const te::Tensor& read : te::inputs(r)) {
    const te::Tensor in = widened_from(draft, read);
    if (in->shape.size() != r->shape.size() || draft.constants.count(in->name)) continue;
    Layout wanted = channels_last(*r, *in, channel);
    const Expr& channels = in->shape[static_cast<size_t>(wanted.dims.back().dim)];
    if (facts.contraction) wanted.row_padding = row_padding_behind(channels, in->dtype);
    if (!in->is_placeholder() && guarded(*in) && !draft.form.reads_halo.count(in->name)) {
      draft.schedule.stages[in->name].place = Place::Root;
      draft.layouts[in->name] = wanted;
    } else if (in->is_placeholder() && draft.layout(in).dims != wanted.dims) {
      const te::Tensor copy = copy_for(draft, *r, in, facts, r->axes[static_cast<size_t>(channel)].var->name);
      draft.layouts[copy->name] = wanted;
      draft.schedule.stages[copy->name].place = Place::Root;
      draft.redirect(in, copy);
    }
  }
}

}  // namespace

std::string unused_name(const ScheduleDraft& draft, std::string name) {
  while (draft.group.find(name)) name += "_";
  return name;
}

void give_roots_layouts(ScheduleDraft& draft) {
  for (const te::Tensor& t : draft.stages())
    if (t->is_placeholder() || draft.group.is_output(t) || draft.schedule.stages[t->name].place == Place::Root)
      draft.layouts.emplace(t->name, draft.layout(t));
}

// Elements one after the other, in the order of storage; for a program, one task after the other.
static void plain_loops(ScheduleDraft& draft, const te::Tensor& stage) {
  StageSchedule& s = draft.schedule.stages[stage->name];
  for (size_t d : stage->batch_axes) s.loops.push_back({stage->axes[d].var->name, 1, LoopKind::Parallel});
  if (stage->is_program()) return draft.note(format("{}: a program", stage->name));
  for (const std::string& axis : storage_order(*stage, draft.layout(stage)))
    s.loops.push_back({axis, 1, s.loops.empty() ? LoopKind::Parallel : LoopKind::Serial});
  for (const te::Axis& k : stage->reduce_axes) s.loops.push_back({k.var->name, 1});
}

void schedule_plainly(ScheduleDraft& draft) {
  separate_values(draft, /*all=*/true);
  add_copies(draft);
  for (const te::Tensor& t : draft.stages()) {
    if (t->is_placeholder()) continue;
    StageSchedule& s = draft.schedule.stages[t->name];
    s = {};
    s.reads_halo = draft.form.reads_halo.count(t->name) > 0;
    if (s.reads_halo || (te::has_several_values(*t) && !t->merge)) continue;
    s.place = Place::Root;
    plain_loops(draft, t);
  }
  // A reduction of several values is computed under its only reader.
  for (const te::Tensor& reader : draft.stages())
    if (!reader->is_placeholder())
      for (const te::Tensor& t : te::inputs(reader))
        if (t->merge) {
          StageSchedule& s = draft.schedule.stages[t->name];
          s.place = Place::At, s.consumer = reader->name, s.storage = Storage::Scratch;
          s.level = static_cast<int>(draft.schedule.stages[reader->name].loops.size());
          s.loops.erase(s.loops.begin(), s.loops.begin() + static_cast<int64_t>(t->axes.size()));
          std::vector<Loop> loops;
          for (const te::Axis& a : t->axes) loops.push_back({a.var->name, 1});
          s.loops.insert(s.loops.begin(), loops.begin(), loops.end());
        }
  draft.note("plain loops");
  give_roots_layouts(draft);
}

bool apply(ScheduleDraft& draft, const std::string& stage, const RuleCandidates& candidates) {
  if (candidates.empty()) return false;
  const RuleCandidate& chosen = draft.choices.choose(stage, candidates);
  if (chosen.patch) chosen.patch(draft);
  return chosen.patch != nullptr;
}

void apply_rules(ScheduleDraft& draft) {
  // True if the rule may be used and made a schedule; it is recorded first, so that it is known if a rule fails inside.
  auto made_by = [&](Rule rule, auto&& make) {
    if (draft.without.count(rule)) return false;
    const bool fresh = draft.used.insert(rule).second;
    if (make()) return true;
    if (fresh) draft.used.erase(rule);
    return false;
  };
  copy_outputs(draft, /*repeated=*/false);
  const FormSchedule* form = draft.form.schedule;
  if (form && form->whole && made_by(form->rule, [&] { return form->whole(draft); })) return give_roots_layouts(draft);
  made_by(Rule::SeveralResults, [&] { return find_secondary_outputs(draft), !draft.secondary_outputs.empty(); });
  if (!draft.form.is_merged()) merge_sums(draft), join_rows(draft);
#define RELAY_GROUP_RULE(name, file, purpose) \
  if (made_by(Rule::name, [&] { return apply(draft, "", file##_rule(draft)); })) return give_roots_layouts(draft);
#include "relay/lower/schedule/schedule_rules.def"
  std::erase_if(draft.secondary_outputs,
                [&](const std::string& o) { return !is_read_pointwise(draft, draft.stage(o)); });
  separate_values(draft, /*all=*/false);
  add_copies(draft);
  for (const Pair& pair : place_stages(draft)) {
    auto facts = [&] {
      const te::Tensor r = draft.stage(pair.reduction);
      return facts_of(r, draft.expanded(r));
    };
    copy_to_channels_last(draft, pair, facts());
    if (form && form->reads) made_by(form->rule, [&] { return form->reads(draft, draft.stage(pair.reduction)), true; });
    made_by(Rule::DotProducts, [&] { return multiply_in_groups(draft, pair.reduction); });
    const te::Tensor r = draft.stage(pair.reduction), e = draft.stage(pair.epilogue);
    const StageFacts now = facts();
#define RELAY_REDUCTION_RULE(name, file, purpose) \
  if (made_by(Rule::name, [&] { return apply(draft, pair.reduction, file##_rule(draft, r, e, now)); })) continue;
#include "relay/lower/schedule/schedule_rules.def"
  }
  for (const te::Tensor& t : draft.stages()) {
    if (!t->body || t->combiner != te::Combiner::None) continue;
    const StageSchedule& s = draft.schedule.stages[t->name];
    if (s.place != Place::Root || !s.loops.empty()) continue;
    const te::Tensor root = draft.stage(t->name);
    const std::string& stage = root->name;
#define RELAY_ROOT_RULE(name, file, purpose) \
  if (made_by(Rule::name, [&] { return apply(draft, stage, file##_rule(draft, root)); })) continue;
#include "relay/lower/schedule/schedule_rules.def"
  }
  if (!draft.secondary_outputs.empty()) place_secondary_outputs(draft);
  for (const te::Tensor& t : draft.stages())
    if (!t->is_placeholder() && draft.schedule.stages[t->name].place == Place::Root &&
        draft.schedule.stages[t->name].loops.empty())
      plain_loops(draft, t);
  if (draft.form.is_merged()) made_by(form->rule, [&] { return form->merged(draft); });
  give_roots_layouts(draft);
}

}  // namespace relay::lower
