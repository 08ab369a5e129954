// Random numbers of converters.
#pragma once

#include "relay/frontend/onnx/convert.h"

namespace relay::onnx {

// Numbers in [0, 1), as many as x has elements: float64 for float64, else float32. Null if a problem was reported.
ir::Expr uniform_like(Convert& c, const ir::Expr& x);

}  // namespace relay::onnx
