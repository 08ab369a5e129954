// The schedule rules. Each is one file, which says what it is for, and one line of schedule_rules.def. It returns
// whether it made anything.
#pragma once

#include "relay/lower/rules/rules.h"

namespace relay::lower {

// Of a whole group.
#define RELAY_GROUP_RULE(name, file, purpose) bool file##_rule(ScheduleDraft& draft);
// Of a reduction `r`, in registers under its pointwise epilogue `e`, a root.
#define RELAY_REDUCTION_RULE(name, file, purpose) \
  bool file##_rule(ScheduleDraft& draft, const te::Tensor& r, const te::Tensor& e, const StageFacts& facts);
// Of a root `e` without a reduction.
#define RELAY_ROOT_RULE(name, file, purpose) bool file##_rule(ScheduleDraft& draft, const te::Tensor& e);
#include "relay/lower/schedule/schedule_rules.def"

}  // namespace relay::lower
