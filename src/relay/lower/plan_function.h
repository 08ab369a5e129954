// Whole-function planning: the function's groups, and for every array between them its storage order and halo.
//
//   - activations around convolutions and pooling are stored channels-last, whatever the model's attributes say;
//   - algorithms give groups another form, join several, or keep arrays as they are given (algorithms/algorithm.h);
//   - what a concatenation reads is computed where its result lies, and what is made element by element in the place
//     of its data (views.h);
//   - an array read through padding gets a halo as wide as its readers need, if they agree on what it holds;
//   - of a function for many calls at once (LowerOptions::calls) groups keep their form, so that no call sees which
//     others it came with;
//   - inputs and outputs stay row-major; a copy stands between when the producer prefers another order.
#pragma once

#include "relay/lower/plan/graph.h"

namespace relay::lower {

Result<FunctionPlan> plan_function(const ir::FunctionRef& function, const LowerOptions& options);

}  // namespace relay::lower
