// Groups that hold recurrences (te.h), taken apart: after all layouts are chosen each becomes a group for each thing
// that the steps read, and for what several of these read; the group of one step; and one for each result that is made
// of the states.
#pragma once

#include "relay/lower/plan/graph.h"

namespace relay::lower {

bool has_recurrence(const te::Tensors& outputs);

void split_recurrences(FunctionPlan& plan);

}  // namespace relay::lower
