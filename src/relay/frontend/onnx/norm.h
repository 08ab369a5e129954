// Helpers of normalisations.
#pragma once

#include "relay/frontend/onnx/convert.h"

namespace relay::onnx {

// (x - mean) / sqrt(variance + epsilon) over `axes`.
ir::Expr standardised(Convert& c, const ir::Expr& x, const ir::Ints& axes, double epsilon);
// x / sqrt(mean(x^2) + epsilon) over `axes`.
ir::Expr rms_normalised(Convert& c, const ir::Expr& x, const ir::Ints& axes, double epsilon);

}  // namespace relay::onnx
