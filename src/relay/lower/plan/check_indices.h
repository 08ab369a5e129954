// Checks of indices as groups of the plan without kernels, in front of the group that reads by the indices. Constant
// indices that are in range need no check.
#pragma once

#include "relay/lower/plan/graph.h"

namespace relay::lower {

// Adds the checks that group `g` needs, which is not in the plan yet. `indices`: the indices of those of g.te.checks
// that have tensors, as g computes them; `rows`: the rows of these.
void add_index_checks(FunctionPlan& plan, const Group& g, const te::Tensors& indices, const std::vector<Rows>& rows);

// Checks need dense arrays: indices that the plan stores in another layout are copied. Called after all layouts are
// chosen.
void copy_checked_indices(FunctionPlan& plan);

}  // namespace relay::lower
