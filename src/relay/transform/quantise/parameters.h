// Constant scales and zero points of quantised tensors, checked when a program is compiled.
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

// Errors, with their places, for constants that represent no number:
// - a scale that is infinite or NaN, or a 0 by which numbers are divided (the scale of a result),
// - a zero point outside of the range of the tensor's integers.
// The module is typed.
Status check_quantisation(const ir::Module& module);

}  // namespace relay::transform
