// Splits groups that hold recurrences (te.h) after all layouts are chosen. Each becomes a group for each value that the
// steps read, with their common inputs as separate groups; the group of one step; and a group for each result computed
// from the states.
#pragma once

#include "relay/lower/plan/graph.h"

namespace relay::lower {

bool has_recurrence(const te::Tensors& outputs);

void split_recurrences(FunctionPlan& plan);

}  // namespace relay::lower
