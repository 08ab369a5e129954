// A group's schedule and kernels. The rules' schedule is built; where the nest or code generation refuses it, it gives
// way to the next simpler one: without one of the rules that made it, without all of them, plain loops at last. So a
// mistake in a rule costs speed, which is said, and never a compilation.
#pragma once

#include "relay/lower/nest/nest.h"
#include "relay/lower/plan/function.h"
#include "relay/lower/plan/options.h"
#include "relay/lower/rules/rules.h"

namespace relay::lower {

struct ScheduledGroup {
  ScheduleDraft draft;
  te::Tensors stages;
  std::vector<BuiltKernel> kernels;
  std::optional<Refusal> refusal;  // of the rules' first schedule
  // The refused schedule is of a form that the function's plan decides: it has to be planned again without. Nothing is
  // built.
  std::optional<Rule> gives_up{};
};

// How an output is stored, unless a rule computes it in a view of other dimensions.
struct OutputLayout {
  size_t rank = 0;
  Layout layout;
};

// `start`: a group with nothing scheduled. An error only if a schedule that was given by hand cannot be built, or any
// if options.strict.
Result<ScheduledGroup> schedule_group(const ScheduleDraft& start, const std::vector<OutputLayout>& outputs,
                                      const std::string& name, const LowerOptions& options);

}  // namespace relay::lower
