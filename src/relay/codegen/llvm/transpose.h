// Transposes a square of registers: rows become columns. Internal to codegen/.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace relay::codegen {

// rows[i] lane j becomes lane i of result[j]. The numbers of rows and lanes are equal, a power of two from 2 to 16;
// elements have 32 or 64 bits. Takes n log2 n instructions on two registers each, the fastest ones of processors:
// interleaving inside of 128 bits first, then moving blocks of 128 bits.
std::vector<llvm::Value*> transpose(llvm::IRBuilder<>& b, const std::vector<llvm::Value*>& rows);

}  // namespace relay::codegen
