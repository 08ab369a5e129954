// The schedule rules. Each is one file, which documents it, and one line of schedule_rules.def. It returns the
// schedules that it can make, as changes to the draft; none if it does not apply.
#pragma once

#include "relay/lower/rules/rules.h"

namespace relay::lower {

// Rules for whole groups.
#define RELAY_GROUP_RULE(name, file, purpose) RuleCandidates file##_rule(const ScheduleDraft& draft);
// Rules for a reduction `r`, in registers under its pointwise epilogue `e`, a root.
#define RELAY_REDUCTION_RULE(name, file, purpose)                                                  \
  RuleCandidates file##_rule(const ScheduleDraft& draft, const te::Tensor& r, const te::Tensor& e, \
                             const StageFacts& facts);
// Rules for a root `e` without a reduction.
#define RELAY_ROOT_RULE(name, file, purpose) \
  RuleCandidates file##_rule(const ScheduleDraft& draft, const te::Tensor& e);
#include "relay/lower/schedule/schedule_rules.def"

}  // namespace relay::lower
