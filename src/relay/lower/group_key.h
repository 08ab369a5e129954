// A text that identifies the computation of a group: records of measured schedules are found by its hash.
#pragma once

#include "relay/lower/plan/options.h"
#include "relay/lower/rules/rules.h"

namespace relay::lower {

// Sixteen hexadecimal digits. Equal for groups that have the same expressions, sizes, layouts, constant inputs, form
// and numerics. The values of constants do not enter it. `start`: a group with nothing scheduled.
std::string group_key(const ScheduleDraft& start, const LowerOptions& options);

}  // namespace relay::lower
