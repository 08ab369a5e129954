// The functions that LLVM's code for WebAssembly calls, which compiler-rt would have. Internal to codegen/.
#pragma once

#include <llvm/IR/Module.h>

namespace relay::codegen {

// Adds all of them; the linker leaves out those that nothing calls. `made`: sets the attributes of a function.
void add_wasm_library(llvm::Module& module, llvm::function_ref<void(llvm::Function&)> made);

}  // namespace relay::codegen
