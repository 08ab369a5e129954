// The steps from kernels to machine code that share LLVM objects. Internal to codegen/.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "relay/codegen/llvm/llvm.h"

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
}  // namespace llvm

namespace relay::runtime {
struct Program;
}

namespace relay::codegen {

// Adds one prepared kernel to the module as an external function with the kernel's name.
Status emit_kernel(const loop::Kernel& prepared, const TargetDesc& target, llvm::Module& module);

// Adds the functions of a valid program, and the table of functions for the runtime (runtime/functions/native.h).
void emit_functions(const runtime::Program& program, const TargetDesc& target, llvm::Module& module);

Result<std::unique_ptr<llvm::TargetMachine>> target_machine(const TargetDesc& target, bool jit);
// Calls prepare() and emit_kernel() for each kernel, in a new module, and adds the functions of a program unless it is
// null. Without a machine, the module has the target's triple but no data layout.
Result<std::unique_ptr<llvm::Module>> build_module(std::span<const loop::Kernel> kernels,
                                                   const runtime::Program* functions, const TargetDesc& target,
                                                   llvm::LLVMContext& context, const llvm::TargetMachine* machine);
// Machine code of a module: an object file or assembly text.
Result<std::string> emit_code(llvm::Module& module, llvm::TargetMachine& machine, bool assembly);
// The same with llc, for a module whose processor's back end is not linked in.
Result<std::string> foreign_code(const llvm::Module& module, const TargetDesc& target, bool assembly);
// Performs all of these steps for one object.
Result<std::string> compile_object(std::span<const loop::Kernel> kernels, const runtime::Program* functions,
                                   const TargetDesc& target, bool jit);
// Compiles several objects: threads take batches of kernels and compile each batch into one (LLVM costs 1.8 ms per
// object before the first kernel), the functions into another. The result is the same for any number of threads.
Result<std::vector<std::string>> compile_objects(std::span<const loop::Kernel> kernels,
                                                 const runtime::Program* functions, const TargetDesc& target,
                                                 int threads, bool jit);

}  // namespace relay::codegen
