// Groups that are attention together become one: the first product, what scales and masks it, the softmax and the
// second product, and what the keys are made by without a sum (a transposition). Nothing is estimated: scores that stay
// in cache cost no more at any length.
#pragma once

#include "relay/base/target_desc.h"
#include "relay/lower/plan/plan_graph.h"

namespace relay::lower {

// Before orders of dimensions are chosen. Looks at structure (attention.h) and at arrays that nothing else reads.
void join_attention(GraphPlan& plan, const TargetDesc& target);

}  // namespace relay::lower
