// The steps from kernels to machine code that share LLVM objects. Internal to codegen/.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "relay/codegen/backend.h"
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

// True if LLVM's back end for the target is linked in; llc compiles for the others.
bool is_linked(const TargetDesc& target);
Result<std::unique_ptr<llvm::TargetMachine>> target_machine(const TargetDesc& target, Tier tier = Tier::Full);
// A new module with prepared kernels, and the functions of a program unless it is null. Without a machine, the module
// has the target's triple but no data layout.
Result<std::unique_ptr<llvm::Module>> build_module(std::span<const loop::Kernel> prepared,
                                                   const runtime::Program* functions, const TargetDesc& target,
                                                   llvm::LLVMContext& context, const llvm::TargetMachine* machine);
// Stops if LLVM finds the module malformed. `what`: for the message.
void verify_module(const llvm::Module& module, const std::string& what);
// Assembly, or the object file, of a module, which this changes.
std::string assembly_of(llvm::Module& module, llvm::TargetMachine& machine);
std::string object_of(llvm::Module& module, llvm::TargetMachine& machine);
// Machine code of a module made by llc, for a processor whose back end is not linked in: an object file or assembly
// text.
Result<std::string> foreign_code(const llvm::Module& module, const TargetDesc& target, bool assembly);
// An object file made by llc, of kernels as lowering made them.
Result<std::string> foreign_object(std::span<const loop::Kernel> kernels, const TargetDesc& target);

// Makes object files one after another. Its first costs as much as several kernels: LLVM sets up some hundred passes.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;
  // An object file of prepared kernels, and of the functions of a program unless it is null. After an error, the writer
  // must not be used again.
  virtual Result<std::string> write(std::span<const loop::Kernel> prepared, const runtime::Program* functions) = 0;
};
Result<std::unique_ptr<ObjectWriter>> object_writer(const TargetDesc& target, Tier tier);

// Links object files into this process; `names`: the kernels in them, and RELAY_FUNCTIONS if they contain functions.
std::shared_ptr<KernelLibrary> link_here(std::span<const std::string_view> objects,
                                         const std::vector<std::string>& names);
// Links object files into one file.
Result<std::string> link_file(std::span<const std::string_view> objects, CodeForm form);

}  // namespace relay::codegen
