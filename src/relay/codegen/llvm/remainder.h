// The exact remainder of floats.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace relay::codegen {

// C's fmod(x, y): x - n * y without any rounding, n being x / y rounded towards zero. Floats, doubles, or vectors of
// them.
llvm::Value* float_remainder(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y);

}  // namespace relay::codegen
