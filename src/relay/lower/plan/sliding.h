// Neighbouring groups that become one kernel, which slides over the rows of an image: a pointwise convolution, behind a
// depthwise one, behind another pointwise one perhaps (an inverted residual block; MobileNet). What is between them is
// wider than what goes in and out; where it does not fit the L2 cache, writing and reading it back costs more than the
// arithmetic that is done again where tasks meet. Scheduling afterwards is in rules/sliding.cpp.
#pragma once

#include "relay/base/target_desc.h"
#include "relay/lower/plan/plan_graph.h"

namespace relay::lower {

// Joins the groups of a plan where the estimate for `target` says that it pays. After orders of dimensions are chosen
// and before borders are. Looks at structure: sizes that are constants, windows without channels of their own, arrays
// that nothing else reads.
void join_sliding(GraphPlan& plan, const TargetDesc& target);

}  // namespace relay::lower
