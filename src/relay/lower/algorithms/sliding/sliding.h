// Fuses neighbouring groups into one kernel that slides over the rows of an image: a pointwise convolution behind a
// depthwise one, possibly behind another pointwise one (an inverted residual block; MobileNet). The arrays between them
// are wider than the input and the result. If they do not fit in the L2 cache, writing and reading them costs more than
// the arithmetic that is repeated where tasks meet.
//
// Integers on machines without instructions for them also slide over the results of a group without sums, such as a
// quantised image in front of the first convolution.
#pragma once

#include "relay/lower/rules/form.h"
#include "relay/lower/schedule/schedule_rules.h"
#include "relay/machine/target_desc.h"

namespace relay::lower {

// GroupForm::stages of such a group.
struct SlidingForm {
  bool window_is_last = false;  // no pointwise convolution follows
};

// Rows of the last stage's results per task of such a kernel.
int64_t rows_a_task(int64_t rows, const TargetDesc& target);

// Called after the rules have scheduled each group: moves the groups into the last one's loop over rows (schedule.cpp).
// Returns false and changes nothing if that loop has another form.
bool schedule_sliding(ScheduleDraft& plan);
inline constexpr FormSchedule sliding_schedule{.rule = Rule::Sliding, .merged = schedule_sliding};

}  // namespace relay::lower
