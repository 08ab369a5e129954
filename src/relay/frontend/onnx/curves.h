// Curves that several operators contain.
#pragma once

#include "relay/frontend/onnx/convert.h"

namespace relay::onnx {

// x / 2 * (1 + erf(x / sqrt(2))); approximately x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
ir::Expr gelu(Convert& c, const ir::Expr& x, bool approximately);

}  // namespace relay::onnx
