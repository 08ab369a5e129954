// Compiles loops and functions to machine code through LLVM. LLVM's headers stay in this folder's .cpp files and in
// target/.
#pragma once

#include "relay/codegen/backend.h"
#include "relay/codegen/object_store.h"

namespace relay::codegen {

// Fast code takes a few times as long to run. Beyond this many operations, a run may lose more than compiling it gains.
constexpr double most_fast_operations = 2e6;
// Uses up to `threads` threads. Fast: full code for kernels beyond `most_operations`, and more if their code is long.
// `store`: object files for this target, or null. Kernels that it has are not compiled.
std::unique_ptr<Backend> llvm_backend(const TargetDesc& target, int threads, Tier tier = Tier::Full,
                                      double most_operations = most_fast_operations,
                                      std::shared_ptr<ObjectStore> store = nullptr);
// Each of these is one call of a backend of its own.
Result<std::shared_ptr<KernelLibrary>> jit(std::span<const loop::Kernel> kernels, const TargetDesc& target,
                                           int threads = 1, const runtime::Program* functions = nullptr);
Result<std::string> object_file(std::span<const loop::Kernel> kernels, const TargetDesc& target);
Result<std::string> shared_library(std::span<const loop::Kernel> kernels, const TargetDesc& target,
                                   const runtime::Program* functions = nullptr, int threads = 1);
// Readable text of a kernel or of all functions.
Result<std::string> llvm_text(const loop::Kernel& kernel, const TargetDesc& target);
Result<std::string> assembly_text(const loop::Kernel& kernel, const TargetDesc& target);
Result<std::string> llvm_text(const runtime::Program& functions, const TargetDesc& target);
Result<std::string> assembly_text(const runtime::Program& functions, const TargetDesc& target);

}  // namespace relay::codegen
