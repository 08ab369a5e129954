// Curves that several operators contain.
#pragma once

#include "relay/frontend/common/conversion.h"

namespace relay::frontend {

// The widest of float32, the type of x and `least`, if x is of floats; its own type otherwise. Squares and sums of
// halves are computed in it, since they may be far larger than halves.
DType exact_type(Conversion& c, const ir::Expr& x, DType least = DType::float32());
// curve(x) computed in that type, then rounded to the type of x.
ir::Expr computed_exactly(Conversion& c, const ir::Expr& x, function_ref<ir::Expr(const ir::Expr&)> curve,
                          DType least = DType::float32());

// x * sigmoid(alpha * x).
ir::Expr silu(Conversion& c, const ir::Expr& x, double alpha = 1);
// nn.gelu; approximately x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
ir::Expr gelu(Conversion& c, const ir::Expr& x, bool approximately);

}  // namespace relay::frontend
