// The pass to_graph_normal_form on one function, for passes that keep some of its variables.
#pragma once

#include "relay/transform/control/effects.h"

namespace relay::transform {

// Replaces let-bound variables whose values have no effects by the values, except those in `kept`. `effects` has
// analysed `f`.
ir::FunctionRef inline_lets(const ir::FunctionRef& f, const Effects& effects, const ir::NodeSet& kept);

}  // namespace relay::transform
