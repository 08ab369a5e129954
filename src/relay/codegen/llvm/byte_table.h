// Vectors of elements of a table that bytes index. Internal to codegen/.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "relay/machine/target_desc.h"

namespace relay::codegen {

// True if the target permutes bytes by a vector of positions, and `lanes` fill its vectors: x86 with SSE 4.1.
bool looks_up_bytes(const TargetDesc& target, int lanes);

// rows[index / 16][index % 16] for each lane. `rows`: 16 vectors of 16 bytes. `index`: a vector of bytes, for which
// looks_up_bytes() holds. Takes 16 permutations, of each row by index % 16, and 15 selections by bits 7 to 4.
llvm::Value* look_up_bytes(llvm::IRBuilder<>& b, const std::vector<llvm::Value*>& rows, llvm::Value* index);

}  // namespace relay::codegen
