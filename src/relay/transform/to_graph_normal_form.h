// The pass to_graph_normal_form on one function, for passes that keep some of its variables.
#pragma once

#include "relay/transform/effects.h"

namespace relay::transform {

// Every let-bound value without effects in the place of its variable, but those of `kept`. `effects` has looked at `f`.
ir::FunctionRef inline_lets(const ir::FunctionRef& f, const Effects& effects, const ir::NodeSet& kept);

}  // namespace relay::transform
