// Checks of indices as groups of the plan, without kernels: in front of the group that reads by them. One whose indices
// are constants in range is left out.
#pragma once

#include "relay/lower/plan/graph.h"

namespace relay::lower {

// The checks that group `g` needs, which is not in the plan yet. `indices`: of those among g.te.checks that have
// tensors, as g computes them; `rows`: of these.
void add_index_checks(FunctionPlan& plan, const Group& g, const te::Tensors& indices, const std::vector<Rows>& rows);

// Checks go over dense arrays; where the plan stores indices in another way they get a copy. After all layouts are
// chosen.
void copy_checked_indices(FunctionPlan& plan);

}  // namespace relay::lower
