// Sine, cosine and tangent of angles of 2^28 and more, which a multiplication by 1 / pi in double does not reduce.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "relay/scalar/expr.h"

namespace relay::codegen {

// The function `op` of the lanes of x with 2^28 <= |x| < infinity; NaN for infinities and NaN, and any value in other
// lanes. Vectors that have no such lane skip it. x is a float or double, or a vector of them.
llvm::Value* far_angles(llvm::IRBuilder<>& b, scalar::UnaryOp op, llvm::Value* x);

}  // namespace relay::codegen
