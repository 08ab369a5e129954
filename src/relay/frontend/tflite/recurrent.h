// Shared parts of recurrent operators.
#pragma once

#include "relay/frontend/common/steps.h"
#include "relay/frontend/tflite/convert.h"

namespace relay::tflite {

// Input i as reals; a quantised weight is dequantised. Null if absent.
ir::Expr real_input(Convert& c, size_t i);
// Data (N, T, ..) as (T, N, ..), and back; with the option time_major they are that already.
ir::Expr by_time(Convert& c, const ir::Expr& e);
// x times the transposed weight (rows, columns).
ir::Expr product_with(Convert& c, const ir::Expr& x, const ir::Expr& weight);

// The state through the steps of x (T, N, ..), or of several arrays of as many steps, from the last step on if
// `reverse`. Returns the outputs of all steps (T, N, ..) in the order of x, and the state after the last one.
struct Sequence {
  ir::Expr outputs;
  ir::Exprs state;
};
std::optional<Sequence> through_steps(Convert& c, const ir::Exprs& xs, const ir::Exprs& state, bool reverse,
                                      frontend::Captures& outside,
                                      function_ref<ir::Exprs(const ir::Exprs& xs, const ir::Exprs& state)> step);

}  // namespace relay::tflite
