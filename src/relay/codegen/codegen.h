// What kernels are behind lowering: what a generator of code starts from, and what it may refuse. The generators are
// codegen/llvm, which makes machine code of kernels and of functions, and codegen/c, which writes kernels as C99.
//
// A kernel becomes a C function
//   void name(void* const* params, const int64_t* shape, int64_t begin, int64_t end, void* scratch)
// that runs tasks [begin, end). `scratch` is 64-byte aligned memory of its own for each thread, scratch_bytes large.
// The functions of a program become a table of C functions (runtime/native.h, codegen/llvm/llvm_functions.cpp).
#pragma once

#include <string_view>
#include <vector>

#include "relay/base/target_desc.h"
#include "relay/loop/loop.h"
#include "relay/runtime/kernel.h"

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

}  // namespace relay::codegen
