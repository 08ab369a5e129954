// Dot products for instructions that add pairs of products in 16 bits (short_sums of machine/instruction.h).
#pragma once

#include "relay/scalar/expr.h"

namespace relay::scalar {

// The same number as dot(), where the sums of the first two products and of the last two are known to fit into 16 bits.
// Text: short_dot_int32(...).
Expr short_dot(DType dtype, Exprs a, Exprs b);
bool is_short_dot(const Expr& e);

}  // namespace relay::scalar
