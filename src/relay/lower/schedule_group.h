// A group's schedule and kernels. The rules' schedule is built. If the nest or code generation refuses it, the next
// simpler one is used: without one of the rules that made it, without all of them, finally plain loops. So a mistake in
// a rule costs speed, which is reported, but never makes a compilation fail.
#pragma once

#include <unordered_map>

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
  // Set if the refused schedule has a form that the function's plan decides: the function has to be planned without it.
  // Nothing is built.
  std::optional<Rule> failed_algorithm{};
  std::string key{};   // group_key()
  bool tuned = false;  // true if measured decisions made the schedule
};

// The storage of an output, unless a rule computes it in a view of other dimensions.
struct OutputLayout {
  size_t rank = 0;
  Layout layout;
};

// Identifies the computation of a group: records of measured schedules are found by it. Sixteen hexadecimal digits,
// equal for groups that have the same expressions, sizes, layouts, constant inputs, form and numerics. The values of
// constants do not enter it. `start`: a group with nothing scheduled.
std::string group_key(const ScheduleDraft& start, const LowerOptions& options);

// The schedules of a function's groups, so that equal groups are scheduled once.
class KnownSchedules {
 public:
  // The schedule of an equal group, or null. `key`: the group_key() of `start`.
  const ScheduledGroup* find(const std::string& key, const ScheduleDraft& start,
                             const std::vector<OutputLayout>& outputs) const;
  void add(const std::string& key, const ScheduleDraft& start, const std::vector<OutputLayout>& outputs,
           const ScheduledGroup& scheduled);

 private:
  struct Known {
    ScheduleDraft start;
    std::vector<OutputLayout> outputs;
    ScheduledGroup scheduled;
  };
  std::unordered_multimap<std::string, Known> by_key_;
};

// `start`: a group with nothing scheduled. Fails only if a user-specified schedule cannot be built or, with
// options.strict, if any cannot. `known`: the schedules made with these options so far, to which this one is added.
// Kernels have the name of the first of equal groups.
Result<ScheduledGroup> schedule_group(const ScheduleDraft& start, const std::vector<OutputLayout>& outputs,
                                      const std::string& name, const LowerOptions& options, KnownSchedules& known);

}  // namespace relay::lower
