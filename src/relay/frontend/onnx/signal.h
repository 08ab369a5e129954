// Fourier transforms of real signals, shared by converters.
#pragma once

#include "relay/frontend/onnx/convert.h"

namespace relay::onnx {

// Along the last axis: (.., n) becomes (.., n / 2 + 1, 2), real and imaginary parts of one side.
Values real_transform(Convert& c, const ir::Expr& x);
// The real signal of n elements whose one-sided transform is x, along an axis before the last, which has real and
// imaginary parts. The other side mirrors it. The last axis of the result has one element.
Values real_inverse(Convert& c, ir::Expr x, int64_t axis, int64_t n);

}  // namespace relay::onnx
