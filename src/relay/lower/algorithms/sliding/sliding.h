// Neighbouring groups that become one kernel, which slides over the rows of an image: a pointwise convolution, behind a
// depthwise one, behind another pointwise one perhaps (an inverted residual block; MobileNet). What is between them is
// wider than what goes in and out; where it does not fit the L2 cache, writing and reading it back costs more than the
// arithmetic that is done again where tasks meet.
#pragma once

#include "relay/base/target_desc.h"
#include "relay/lower/rules/form.h"
#include "relay/lower/schedule/schedule_rules.h"

namespace relay::lower {

// Rows of the last stage's results that a task of such a kernel computes.
int64_t rows_a_task(int64_t rows, const TargetDesc& target);

// After the rules have scheduled each of the groups: they move into the last one's loop over rows (schedule.cpp).
// False, and nothing done, if that has another form.
bool schedule_sliding(ScheduleDraft& plan);
inline constexpr FormSchedule sliding_schedule{.rule = Rule::Sliding, .joined = schedule_sliding};

}  // namespace relay::lower
