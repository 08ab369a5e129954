// Helpers of normalisations.
#pragma once

#include "relay/frontend/common/conversion.h"

namespace relay::frontend {

// The mean of squares over `axes`, which keep an extent of 1.
ir::Expr mean_square(Conversion& c, const ir::Expr& x, const ir::Ints& axes);

// (x - mean) / sqrt(variance + epsilon) over `axes`, computed in exact_type (curves.h) and rounded to the type of x.
ir::Expr standardised(Conversion& c, const ir::Expr& x, const ir::Ints& axes, double epsilon,
                      DType least = DType::float32());
// x / sqrt(mean(x^2) + epsilon) over `axes`, in the same way.
ir::Expr rms_normalised(Conversion& c, const ir::Expr& x, const ir::Ints& axes, double epsilon,
                        DType least = DType::float32());

}  // namespace relay::frontend
