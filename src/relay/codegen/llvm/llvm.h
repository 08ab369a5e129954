// Compiles loops and functions to machine code through LLVM. LLVM's headers stay in this folder's .cpp files and in
// target/.
#pragma once

#include <memory>
#include <span>

#include "relay/codegen/codegen.h"
#include "relay/runtime/program/program.h"

namespace relay::codegen {

// Compiles in process (ORC), up to `threads` kernels at a time. Kernels are passed as lowering made them; prepare() is
// called here. Refuses the same kernels as check(). `functions`: a valid program whose functions are compiled too.
Result<std::shared_ptr<KernelLibrary>> jit(std::span<const loop::Kernel> kernels, const TargetDesc& target,
                                           int threads = 1, const runtime::Program* functions = nullptr);
// A relocatable object file / a shared library image (linked by lld, no undefined symbols; compiled by `threads`
// threads).
Result<std::string> object_file(std::span<const loop::Kernel> kernels, const TargetDesc& target);
Result<std::string> shared_library(std::span<const loop::Kernel> kernels, const TargetDesc& target,
                                   const runtime::Program* functions = nullptr, int threads = 1);
// Readable text of a kernel or of all functions.
Result<std::string> llvm_text(const loop::Kernel& kernel, const TargetDesc& target);
Result<std::string> assembly_text(const loop::Kernel& kernel, const TargetDesc& target);
Result<std::string> llvm_text(const runtime::Program& functions, const TargetDesc& target);
Result<std::string> assembly_text(const runtime::Program& functions, const TargetDesc& target);

}  // namespace relay::codegen
