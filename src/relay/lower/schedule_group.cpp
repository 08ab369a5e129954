#include "relay/lower/schedule_group.h"

#include "relay/base/stable_hash.h"
#include "relay/lower/group/equal_stages.h"
#include "relay/lower/group/finite.h"
#include "relay/lower/schedule/schedule_rules.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

std::string group_key(const ScheduleDraft& start, const LowerOptions& options) {
  const te::Tensors stages = start.stages();
  std::string text =
      format("{}\n{}{}{}{}\n", te::str(stages), name(options.numerics), start.streams_weights ? " s" : "",
             start.is_step ? " step" : "", start.form.by_channels ? " by channels" : "");
  if (start.form.schedule) text += format("{} {}\n", name(start.form.schedule->rule), start.form.weight);
  for (const std::string& stage : start.form.reads_halo) text += format("{} reads a halo\n", stage);
  for (const te::Tensor& t : stages) {
    const auto layout = start.layouts.find(t->name);
    const bool constant = start.constants.count(t->name) > 0;
    if (constant)
      text += format("{} is constant\n", t->name);
    else if (layout != start.layouts.end())
      text += format("{}: {}\n", t->name, layout->second.str());
  }
  return format("{:016x}", stable_hash(text));
}

namespace {

// An attempt, with the reason if it was refused.
struct Attempt {
  ScheduledGroup group;
  std::optional<Diagnostic> refused{};
};

// The number of statements after loops are unrolled.
double unrolled_length(const loop::Stmt& s) {
  double inside = s->body.empty() ? 1 : 0;
  for (const loop::Stmt& b : s->body) inside += unrolled_length(b);
  if (s->kind != loop::StmtKind::For || s->for_kind != loop::ForKind::Unrolled) return inside;
  const scalar::Expr extent = scalar::simplify(s->extent);
  return scalar::is_int(extent) ? inside * static_cast<double>(extent->ivalue) : inside;
}

Status check_length(const loop::Kernel& kernel) {
  constexpr double most = 1 << 14;  // statements; the longest tiles that rules make have some hundreds
  const double length = unrolled_length(kernel.body);
  if (length <= most) return ok();
  return Diagnostic{DiagnosticKind::illegal_schedule,
                    format("the unrolled loops of kernel {} make {} statements, more than the limit of {}", kernel.name,
                           length, most),
                    {},
                    {},
                    {},
                    "unroll inner loops of few iterations only: split an axis, and leave the outer part serial"};
}

class Attempts {
 public:
  Attempts(const ScheduleDraft& start, const std::vector<OutputLayout>& outputs, const std::string& name,
           const LowerOptions& options)
      : start_(start), outputs_(outputs), name_(name), options_(options) {}

  Attempt without(const RuleSet& rules, const Decisions& decisions = {}) const {
    return attempt(rules, [&](ScheduleDraft& draft) {
      draft.choices.decisions = decisions;
      apply_rules(draft);
      remove_prefetching_unless_allowed(draft);
      for (const auto& [key, option] : decisions)
        if (!draft.choices.obeyed.count(key)) throw InternalError(format("the group has no choice {}={}", key, option));
      for (Rule rule : draft.used)
        if (options_.refused.count(rule)) throw InternalError(format("the rule '{}' is disabled", lower::name(rule)));
    });
  }

  Attempt plain() const { return attempt({}, schedule_plainly); }

  // `text`: a schedule, or a line of decisions: "decide conv2d.tile=12x2".
  Result<ScheduledGroup> as_given(const std::string& text) const {
    constexpr std::string_view decide = "decide ";
    if (text.starts_with(decide)) return as_decided(trim(std::string_view(text).substr(decide.size())));
    ScheduleDraft draft = start_;
    apply_rules(draft);
    ScheduledGroup out;
    out.stages = draft.stages();
    RELAY_ASSIGN(draft.schedule, parse_schedule(text, out.stages));
    for (const auto& [tensor, layout] : draft.schedule.layouts)
      if (draft.constants.count(tensor))
        draft.layouts[tensor] = layout;
      else if (!(draft.layouts.at(tensor) == layout))
        return Diagnostic{DiagnosticKind::illegal_schedule,
                          format("the layout of '{}' is decided by its other readers", tensor),
                          {},
                          {},
                          {},
                          "only constants' layouts can be changed here"};
    RELAY_ASSIGN(out.kernels, build(draft, out.stages));
    out.draft = std::move(draft);
    return out;
  }

 private:
  Result<ScheduledGroup> as_decided(std::string_view text) const {
    RELAY_ASSIGN(const Decisions decisions, parse_decisions(text));
    Attempt made = without({}, decisions);
    if (!made.refused) return std::move(made.group);
    made.refused->help = "`relay opt MODEL --emit candidates` lists the choices of each group with their options";
    return *made.refused;
  }

  template <class Schedules>
  Attempt attempt(const RuleSet& rules, Schedules&& schedule) const {
    Attempt out;
    ScheduleDraft& draft = out.group.draft;
    draft = start_;
    draft.without = rules;
    try {
      schedule(draft);
      out.group.stages = draft.stages();
      Result<std::vector<BuiltKernel>> built = build(draft, out.group.stages);
      if (built)
        out.group.kernels = std::move(*built);
      else
        out.refused = built.errors()[0];
    } catch (const InternalError& e) {
      out.refused = Diagnostic{.kind = DiagnosticKind::illegal_schedule,
                               .message = e.what(),
                               .help = "this is a bug in Relay: compile without --strict, and report it"};
    }
    return out;
  }

  Result<std::vector<BuiltKernel>> build(ScheduleDraft& draft, const te::Tensors& stages) const {
    for (size_t o = 0; o < draft.outputs().size(); ++o)
      if (draft.outputs()[o]->shape.size() == outputs_[o].rank)
        draft.layouts[draft.outputs()[o]->name] = outputs_[o].layout;
    RELAY_ASSIGN(std::vector<BuiltKernel> built,
                 build_kernels(stages, draft.schedule, draft.layouts, options_.target, name_, options_.injected_bug));
    for (const BuiltKernel& b : built) RELAY_RETURN_IF_ERROR(check_length(b.kernel));
    for (BuiltKernel& b : built) {
      b.text = loop::text_without_name(b.kernel);
      if (options_.check_code) RELAY_RETURN_IF_ERROR(options_.check_code(b.kernel, b.text));
    }
    return built;
  }

  static void remove_prefetching_unless_allowed(ScheduleDraft& draft) {
    auto prefetches = [](const auto& stage) {
      return !stage.second.prefetch.empty() || !stage.second.prefetch_tile.empty();
    };
    const auto& stages = draft.schedule.stages;
    const bool some = std::any_of(stages.begin(), stages.end(), prefetches) && !draft.without.count(Rule::Prefetch);
    const bool leave_out = !some || draft.choose({"", "prefetch", {{"on"}, {"off"}}}) == 1;
    for (auto& [stage, s] : draft.schedule.stages) {
      if (s.prefetch.empty() && s.prefetch_tile.empty()) continue;
      if (leave_out)
        s.prefetch.clear(), s.prefetch_tile.clear();
      else
        draft.used.insert(Rule::Prefetch);
    }
  }

  const ScheduleDraft& start_;
  const std::vector<OutputLayout>& outputs_;
  const std::string& name_;
  const LowerOptions& options_;
};

// The group with the first schedule that can be built: the specified one, the measured one, that of all rules, and
// simpler ones.
Result<ScheduledGroup> scheduled(const Attempts& attempts, const std::string& key, const std::string& name,
                                 const LowerOptions& options) {
  if (auto given = options.schedules.find(name); given != options.schedules.end())
    return attempts.as_given(given->second);
  if (auto record = options.tuned.find(key); record != options.tuned.end()) {
    const Result<Decisions> decisions = parse_decisions(record->second);
    Attempt tuned = decisions ? attempts.without({}, *decisions) : Attempt{};
    if (decisions && !tuned.refused) {
      tuned.group.tuned = true;
      return std::move(tuned.group);
    }
  }

  Attempt first = attempts.without({});
  if (!first.refused) return std::move(first.group);
  const RuleSet used = first.group.draft.used;
  if (options.strict)
    return Diagnostic{
        DiagnosticKind::illegal_schedule,
        format("the schedule of '{}', made by the rules {}, cannot be built: {}", name, names(used),
               first.refused->message),
        {},
        {},
        {},
        "this is a bug in Relay, not in your program; without strict mode the group is computed by a simpler schedule"};
  auto instead = [&](ScheduledGroup&& group, const RuleSet& without) {
    group.refusal = Refusal{name, without, first.refused->message};
    return std::move(group);
  };

  for (Rule rule : used) {
    if (is_of_function(rule)) {
      ScheduledGroup none;
      none.failed_algorithm = rule;
      return instead(std::move(none), {rule});
    }
    if (Attempt next = attempts.without({rule}); !next.refused) return instead(std::move(next.group), {rule});
  }
  for (RuleSet without = used;;) {
    Attempt next = attempts.without(without);
    if (!next.refused) return instead(std::move(next.group), without);
    const size_t before = without.size();
    without.insert(next.group.draft.used.begin(), next.group.draft.used.end());
    if (without.size() > before) continue;
    Attempt plain = attempts.plain();
    if (!plain.refused) return instead(std::move(plain.group), without);
    return *plain.refused;
  }
}

// Rules ask two things about the values of constants (group/finite.h).
bool same_values(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && (x.second.data() == y.second.data() || (all_finite(x.second) == all_finite(y.second) &&
                                                                         !has_least(x.second) && !has_least(y.second)));
  });
}

bool same_layouts(const std::vector<OutputLayout>& a, const std::vector<OutputLayout>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const OutputLayout& x, const OutputLayout& y) {
    return x.rank == y.rank && x.layout == y.layout;
  });
}

bool same_names(const te::Tensors& a, const te::Tensors& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const te::Tensor& x, const te::Tensor& y) { return x->name == y->name; });
}

bool same_form(const ScheduleDraft& a, const ScheduleDraft& b) {
  return a.streams_weights == b.streams_weights && a.form.by_channels == b.form.by_channels &&
         a.form.reads_halo == b.form.reads_halo;
}

}  // namespace

const ScheduledGroup* KnownSchedules::find(const std::string& key, const ScheduleDraft& start,
                                           const std::vector<OutputLayout>& outputs) const {
  for (auto [at, end] = by_key_.equal_range(key); at != end; ++at) {
    const Known& known = at->second;
    if (known.start.constants == start.constants && known.start.layouts == start.layouts &&
        known.start.stored_layouts == start.stored_layouts && same_form(known.start, start) &&
        same_layouts(known.outputs, outputs) && same_names(known.start.outputs(), start.outputs()) &&
        are_equal(known.start.group.stages(), start.group.stages()) && same_values(known.start.values, start.values))
      return &known.scheduled;
  }
  return nullptr;
}

void KnownSchedules::add(const std::string& key, const ScheduleDraft& start, const std::vector<OutputLayout>& outputs,
                         const ScheduledGroup& scheduled) {
  by_key_.emplace(key, Known{start, outputs, scheduled});
}

Result<ScheduledGroup> schedule_group(const ScheduleDraft& start, const std::vector<OutputLayout>& outputs,
                                      const std::string& name, const LowerOptions& options, KnownSchedules& known) {
  const std::string key = group_key(start, options);
  // The stages of an algorithm's form and of a recurrence cannot be compared.
  const bool may_share = !start.form.schedule && !start.is_step && !options.schedules.contains(name);
  if (may_share)
    if (const ScheduledGroup* made = known.find(key, start, outputs)) return *made;
  const Attempts attempts(start, outputs, name, options);
  RELAY_ASSIGN(ScheduledGroup out, scheduled(attempts, key, name, options));
  out.key = key;
  if (may_share && !out.refusal) known.add(key, start, outputs, out);  // refusals name the group
  return out;
}

}  // namespace relay::lower
