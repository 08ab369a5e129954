// Loops and functions to machine code, through LLVM. The headers of LLVM stay in this folder's .cpp files and in
// target/.
//
// A kernel becomes a C function
//   void name(void* const* params, const int64_t* shape, int64_t begin, int64_t end, void* scratch)
// that runs tasks [begin, end). `scratch` is 64-byte aligned memory of its own for each thread, scratch_bytes large.
// The functions of a program become a table of C functions (runtime/native.h, llvm_functions.cpp).
#pragma once

#include <memory>
#include <span>

#include "relay/base/target_desc.h"
#include "relay/loop/loop.h"
#include "relay/runtime/kernel.h"
#include "relay/runtime/program.h"

namespace relay::codegen {

// What the runtime calls, and how it finds it.
using runtime::KernelFn;
using runtime::KernelLibrary;

// A target: its name and how to describe the machine. One line a target in driver/targets.def.
struct TargetDef {
  const char* name;                          // "x86"
  std::vector<std::string> (*processors)();  // the names that descriptions begin with
  // "native" or "zen4,-avx512f": the description, or what is wrong with the text.
  Result<TargetDesc> (*describe)(std::string_view text);
};

int64_t scratch_bytes(const loop::Kernel& kernel);

// Runs the loop passes that code generation needs (unroll, vectorise, expand_math, simplify, hoist).
loop::Kernel prepare(const loop::Kernel& kernel, const TargetDesc& target);

// What code generation refuses of a kernel as lowering made it, without generating code: illegal_schedule where its
// register buffers do not fit the register file or have indices that are not constant.
Status check(const loop::Kernel& kernel, const TargetDesc& target);

// Compiles in process (ORC), up to `threads` kernels at a time. Kernels are as lowering made them: prepare() is called.
// Refuses what check() does.
// `functions`: a valid program whose functions are compiled too.
Result<std::shared_ptr<KernelLibrary>> jit(std::span<const loop::Kernel> kernels, const TargetDesc& target,
                                           int threads = 1, const runtime::Program* functions = nullptr);
// A relocatable object file / a shared library image (linked by lld, no undefined symbols; compiled by so many
// threads).
Result<std::string> object_file(std::span<const loop::Kernel> kernels, const TargetDesc& target);
Result<std::string> shared_library(std::span<const loop::Kernel> kernels, const TargetDesc& target,
                                   const runtime::Program* functions = nullptr, int threads = 1);
// Text for people, of a kernel or of all functions.
Result<std::string> llvm_text(const loop::Kernel& kernel, const TargetDesc& target);
Result<std::string> assembly_text(const loop::Kernel& kernel, const TargetDesc& target);
Result<std::string> llvm_text(const runtime::Program& functions, const TargetDesc& target);
Result<std::string> assembly_text(const runtime::Program& functions, const TargetDesc& target);

}  // namespace relay::codegen
