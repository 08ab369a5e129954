// A square of registers turned around: rows become columns. Internal to codegen/.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace relay::codegen {

// rows[i] lane j becomes lane i of result[j]. As many rows as lanes, a power of two from 2 to 16; elements of 32 or 64
// bits. n log2 n instructions on two registers each, of those that processors do fastest: interleaving inside of 128
// bits first, then moving blocks of 128 bits.
std::vector<llvm::Value*> transpose(llvm::IRBuilder<>& b, const std::vector<llvm::Value*>& rows);

}  // namespace relay::codegen
