// The steps from kernels to machine code that share LLVM objects. Internal to codegen/.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "relay/codegen/codegen.h"

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
}  // namespace llvm

namespace relay::codegen {

// Adds one prepared kernel to the module as an external function of its name.
Status emit_kernel(const loop::Kernel& prepared, const TargetDesc& target, llvm::Module& module);

Result<std::unique_ptr<llvm::TargetMachine>> target_machine(const TargetDesc& target, bool jit);
// prepare() and emit_kernel() of each, into a fresh module.
Result<std::unique_ptr<llvm::Module>> build_module(std::span<const loop::Kernel> kernels, const TargetDesc& target,
                                                   llvm::LLVMContext& context, llvm::TargetMachine& machine);
// Machine code of a module: an object file or assembly text.
Result<std::string> emit_code(llvm::Module& module, llvm::TargetMachine& machine, bool assembly);
// All of the above for one object.
Result<std::string> compile_object(std::span<const loop::Kernel> kernels, const TargetDesc& target, bool jit);

}  // namespace relay::codegen
