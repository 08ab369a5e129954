// The interface between lowering and code generators: their input, and what they may refuse. The generators are
// codegen/llvm, which compiles kernels and functions to machine code, and codegen/c, which writes kernels as C99.
//
// A kernel becomes a C function
//   void name(void* const* params, const int64_t* shape, int64_t begin, int64_t end, void* scratch)
// that runs tasks [begin, end). `scratch` is 64-byte aligned memory, a separate block of scratch_bytes for each thread.
// The functions of a program become a table of C functions (runtime/functions/native.h,
// codegen/llvm/llvm_functions.cpp).
#pragma once

#include <string_view>
#include <vector>

#include "relay/loop/loop.h"
#include "relay/machine/target_desc.h"
#include "relay/runtime/kernel.h"

namespace relay::codegen {

// The functions that the runtime calls, and the library in which it finds them.
using runtime::KernelFn;
using runtime::KernelLibrary;
using runtime::Tier;

// A target: its name and a function that describes the machine. Each has a line in driver/targets.def.
struct TargetDef {
  const char* name;                          // "x86"
  std::vector<std::string> (*processors)();  // the names that descriptions begin with
  // "native" or "zen4,-avx512f": the description, or a diagnostic about the text.
  Result<TargetDesc> (*describe)(std::string_view text);
};

int64_t scratch_bytes(const loop::Kernel& kernel);

// A kernel on its way to a code generator.
struct Prepared {
  enum class Step : uint8_t { Lowered, Unrolled, Final };  // as lowering made it; unroll, vectorise; all passes
  loop::Kernel kernel;
  Step step = Step::Lowered;
};

// Checks without generating code that code generation accepts a kernel as lowering made it: illegal_schedule if its
// register buffers do not fit in the register file or have indices that are not constant, or its tiles do not fit in
// those of the machine (loop/tiles.h). Returns the kernel as far as
// the check had to prepare it.
Result<Prepared> check(const loop::Kernel& kernel, const TargetDesc& target);

// Runs the remaining loop passes that code generation needs (unroll, vectorise, expand_math, simplify, hoist).
loop::Kernel finish(Prepared prepared, const TargetDesc& target);
inline loop::Kernel prepare(const loop::Kernel& kernel, const TargetDesc& target) { return finish({kernel}, target); }

}  // namespace relay::codegen
