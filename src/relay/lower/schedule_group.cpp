#include "relay/lower/schedule_group.h"

namespace relay::lower {

namespace {

// One try, with its reason where it was refused.
struct Attempt {
  ScheduledGroup group;
  std::optional<Diagnostic> refused{};
};

class Attempts {
 public:
  Attempts(const GroupPlan& start, const std::vector<OutputLayout>& outputs, const std::string& name,
           const LowerOptions& options)
      : start_(start), outputs_(outputs), name_(name), options_(options) {}

  Attempt without(const RuleSet& rules) const {
    return attempt(rules, [&](GroupPlan& plan) {
      plan_group(plan);
      remove_prefetching_unless_allowed(plan);
      for (Rule rule : plan.used)
        if (options_.refused.count(rule))
          throw InternalError(format("the rule '{}' was told to refuse", lower::name(rule)));
    });
  }

  Attempt plain() const { return attempt({}, plan_plain); }

  Result<ScheduledGroup> as_given(const std::string& text) const {
    GroupPlan plan = start_;
    plan_group(plan);
    ScheduledGroup out;
    out.stages = plan.stages();
    RELAY_ASSIGN(plan.schedule, parse_schedule(text, out.stages));
    for (const auto& [tensor, layout] : plan.schedule.layouts)
      if (plan.constants.count(tensor))
        plan.layouts[tensor] = layout;
      else if (!(plan.layouts.at(tensor) == layout))
        return Diagnostic{DiagnosticKind::illegal_schedule,
                          format("the layout of '{}' is decided by its other readers", tensor),
                          {},
                          {},
                          {},
                          "only constants' layouts can be changed here"};
    RELAY_ASSIGN(out.kernels, build(plan, out.stages));
    out.plan = std::move(plan);
    return out;
  }

 private:
  template <class Schedules>
  Attempt attempt(const RuleSet& rules, Schedules&& schedule) const {
    Attempt out;
    GroupPlan& plan = out.group.plan;
    plan = start_;
    plan.without = rules;
    try {
      schedule(plan);
      out.group.stages = plan.stages();
      Result<std::vector<BuiltKernel>> built = build(plan, out.group.stages);
      if (built)
        out.group.kernels = std::move(*built);
      else
        out.refused = built.errors()[0];
    } catch (const InternalError& e) {
      out.refused = Diagnostic{.kind = DiagnosticKind::illegal_schedule,
                               .message = e.what(),
                               .help = "this is a fault in Relay: compile without --strict, and report it"};
    }
    return out;
  }

  Result<std::vector<BuiltKernel>> build(GroupPlan& plan, const te::Tensors& stages) const {
    for (size_t o = 0; o < plan.outputs.size(); ++o)
      if (plan.outputs[o]->shape.size() == outputs_[o].rank) plan.layouts[plan.outputs[o]->name] = outputs_[o].layout;
    RELAY_ASSIGN(std::vector<BuiltKernel> built,
                 build_kernels(stages, plan.schedule, plan.layouts, options_.target, name_));
    if (options_.check_code)
      for (const BuiltKernel& b : built) RELAY_RETURN_IF_ERROR(options_.check_code(b.kernel));
    return built;
  }

  static void remove_prefetching_unless_allowed(GroupPlan& plan) {
    for (auto& [stage, s] : plan.schedule.stages) {
      if (s.ahead.empty() && s.early.empty()) continue;
      if (plan.without.count(Rule::Prefetch))
        s.ahead.clear(), s.early.clear();
      else
        plan.used.insert(Rule::Prefetch);
    }
  }

  const GroupPlan& start_;
  const std::vector<OutputLayout>& outputs_;
  const std::string& name_;
  const LowerOptions& options_;
};

}  // namespace

Result<ScheduledGroup> schedule_group(const GroupPlan& start, const std::vector<OutputLayout>& outputs,
                                      const std::string& name, const LowerOptions& options) {
  const Attempts attempts(start, outputs, name, options);
  if (auto given = options.schedules.find(name); given != options.schedules.end())
    return attempts.as_given(given->second);

  Attempt first = attempts.without({});
  if (!first.refused) return std::move(first.group);
  const RuleSet used = first.group.plan.used;
  if (options.strict)
    return Diagnostic{DiagnosticKind::illegal_schedule,
                      format("the schedule of '{}', made by the rules {}, cannot be built: {}", name, names(used),
                             first.refused->message),
                      {},
                      {},
                      {},
                      "this is a mistake in Relay, not in your program; without strict mode the group is computed by a "
                      "simpler schedule"};
  auto instead = [&](ScheduledGroup&& group, const RuleSet& without) {
    group.refusal = Refusal{name, without, first.refused->message};
    return std::move(group);
  };

  for (Rule rule : used) {
    if (is_of_function(rule)) {
      ScheduledGroup none;
      none.gives_up = rule;
      return instead(std::move(none), {rule});
    }
    if (Attempt next = attempts.without({rule}); !next.refused) return instead(std::move(next.group), {rule});
  }
  for (RuleSet without = used;;) {
    Attempt next = attempts.without(without);
    if (!next.refused) return instead(std::move(next.group), without);
    const size_t before = without.size();
    without.insert(next.group.plan.used.begin(), next.group.plan.used.end());
    if (without.size() > before) continue;
    Attempt plain = attempts.plain();
    if (!plain.refused) return instead(std::move(plain.group), without);
    return *plain.refused;
  }
}

}  // namespace relay::lower
