// Kernels as C99: one source file that needs the C library and nothing else. For processors that this build of LLVM
// does not know, and for users who want to read a kernel, keep it or build it into their own program.
//
//   cc -std=c99 -O2 -c kernels.c
//
// Each kernel is a C function as in codegen.h, named kernel_NAME. Loops stay loops, whether the schedule unrolls or
// vectorises them: that is the C compiler's work here. Values are those of the evaluator: integers wrap around, a
// division by zero is 0, float16 is rounded after each operation; exp, tanh and similar functions are the C library's.
#pragma once

#include <span>
#include <string>

#include "relay/loop/loop.h"

namespace relay::codegen {

// The function's name, since kernels may have names of C's own, such as `floor`.
std::string c_name(const std::string& kernel);
// `kernels`: as lowering made them.
std::string c_source(std::span<const loop::Kernel> kernels);

}  // namespace relay::codegen
