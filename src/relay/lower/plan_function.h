// Whole-function planning: the function's groups, and for every array between them its storage order and halo.
//
//   - activations around convolutions and pooling are stored channels-last, whatever the model's attributes say;
//   - algorithms give groups another form, join several, or keep arrays as they are (algorithms/algorithm.h);
//   - inputs of a concatenation are computed inside its result, and elementwise results in the place of their data
//     (views.h);
//   - an array read through padding gets a halo as wide as its readers need, if they agree on the value that it holds;
//   - groups of a function for many calls at once (LowerOptions::calls) keep their form, so that no call sees which
//     others run with it;
//   - inputs and outputs stay row-major; a copy is inserted if the producer prefers another order.
#pragma once

#include "relay/lower/plan/graph.h"

namespace relay::lower {

Result<FunctionPlan> plan_function(const ir::FunctionRef& function, const LowerOptions& options);

// The operations of a group of the plan, without those of stages with symbolic sizes (group/flops.h).
double flops_of(const Group& group, const TargetDesc& target);

}  // namespace relay::lower
