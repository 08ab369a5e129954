// Helpers of normalisations.
#pragma once

#include "relay/frontend/onnx/convert.h"

namespace relay::onnx {

// (x - mean) / sqrt(variance + epsilon) over `axes`, computed in exact_type (curves.h) and rounded to the type of x.
ir::Expr standardised(Convert& c, const ir::Expr& x, const ir::Ints& axes, double epsilon,
                      DType least = DType::float32());
// x / sqrt(mean(x^2) + epsilon) over `axes`, in the same way.
ir::Expr rms_normalised(Convert& c, const ir::Expr& x, const ir::Ints& axes, double epsilon,
                        DType least = DType::float32());
// The type that the attribute stash_type names, float32 by default. Unset if a problem was reported.
std::optional<DType> stash_type(Convert& c);

}  // namespace relay::onnx
