// Kernels as C99: one source file that needs the C library and nothing else. For processors that this build of LLVM
// does not know, and for users who want to read a kernel, keep it or build it into their own program.
//
//   cc -std=c99 -O2 -c kernels.c
//
// Each kernel is a C function as in codegen.h, named kernel_NAME. Loops stay loops, whether the schedule unrolls or
// vectorises them: that is the C compiler's work here. Values are those of the evaluator: integers wrap around, a
// division by zero is 0, float16 is rounded after each operation; exp, tanh and similar functions are the C library's.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relay/codegen/c/c_helpers.h"
#include "relay/loop/loop.h"

namespace relay::codegen {

// `kernels`: as lowering made them.
std::string c_source(std::span<const loop::Kernel> kernels);

// Kernels as OpenCL C 1.2. Each is an entry point over tasks [begin, end), which its work-items share:
//
//   __kernel void kernel_NAME(__global uchar *data_memory, long data_at, ..., long n, ..., long begin, long end,
//                             __global uchar *scratch_memory)
//
// For each array a memory object and the position of its first byte; then the shape variables, the tasks and, if the
// kernel has any, scratch memory for all work-items, of which each uses at most codegen::scratch_bytes(). Values are
// those of the CPU: polynomials for exp and similar functions, and with RELAY_FMA defined, for devices with fma, the
// same roundings. float16 and bfloat16 are computed in float, and need no extension; float64 needs cl_khr_fp64.
//
// `fine_tasks`: the loops of a task are spread over work-items (loop::spread), as GPUs need it.
std::string opencl_source(std::span<const loop::Kernel> kernels, bool fine_tasks);

// Kernels as HIP C++ for GPUs of AMD, which compilers of CUDA C++ take too:
//
//   extern "C" __global__ void kernel_NAME(const float *data, ..., long long n, ..., long long begin, long long end,
//                                          unsigned char *scratch_memory)
//
// Its arrays, the shape variables, the tasks and, if the kernel has any, scratch memory, as for OpenCL. Blocks and
// grids have one dimension and any size, except that a kernel with __launch_bounds__(N) needs blocks of N threads.
// Values are those of the CPU.
std::string hip_source(std::span<const loop::Kernel> kernels);

// Kernels in Metal's language, for GPUs of Apple. Buffer N is the N-th array of a kernel, the next one is an array of
// its shape variables, the first task and the end of its tasks, all of 64 bits, and the last one, if the kernel has
// any, is scratch memory for all threads. A kernel with max_total_threads_per_threadgroup(N) needs groups of N threads.
// Values are those of the CPU, if the compiler does not take liberties with floats.
// `kernels`: without metal_problem().
std::string metal_source(std::span<const loop::Kernel> kernels);
// The reason why a kernel cannot be written in Metal's language; unset if it can.
std::optional<std::string> metal_problem(const loop::Kernel& kernel);

// Kernels as WGSL, the language of WebGPU. Each is an entry point over all of its tasks, kernel_NAME. The arrays of all
// kernels are parts of one buffer, `memory`; the constants relay_array_0, relay_array_1, ... of a pipeline are the
// first words of the kernel's arrays, and relay_scratch is that of its scratch memory. Values are those of the CPU as
// far as WGSL states them: an implementation may fuse and reorder operations, and may assume that there is no NaN or
// infinity.
//
// Each kernel follows a line with `wgsl_mark` and the name of its entry. The text before the first such line and that
// of a kernel make a module, which is faster to compile than one of all kernels.
inline constexpr const char* wgsl_mark = "// --- ";
struct WgslLaunch {
  std::string entry;
  int64_t groups = 0;         // workgroups that run all tasks; fewer do, too
  int64_t scratch_bytes = 0;  // of all threads
};
struct WgslSource {
  std::string text;
  std::vector<WgslLaunch> launches;  // by kernel
};
// The most workgroups in one dimension that every device has, and bytes of scratch memory that a kernel should have.
inline constexpr int64_t most_wgsl_groups = 65535, most_wgsl_scratch = 32 << 20;
// `kernels`: without wgsl_problem().
WgslSource wgsl_source(std::span<const loop::Kernel> kernels);
// The reason why a kernel cannot be written in WGSL; unset if it can.
std::optional<std::string> wgsl_problem(const loop::Kernel& kernel);

// --- functions of a program (relay/c_project) ------------------------------------------------------------------------
// Each kernel is a static function over all of its tasks: its arrays as typed pointers, then its shape variables, then,
// if it has any, its scratch memory. Register tiles are scalars.
struct CKernel {
  const loop::Kernel* kernel = nullptr;
  bool may_overlap = false;  // two of its arrays share memory in some call
};
struct CFunctionOptions {
  bool library_math = false;  // exp, tanh and similar functions are the C library's, otherwise polynomials
  bool keep_lanes = false;    // loops over the lanes of vectors stay loops, for the C compiler to vectorise
};
struct CFunction {
  std::string name, text;
  int64_t scratch_bytes = 0;  // 0: it has no such parameter
};
struct CFunctions {
  std::string helpers;               // in front of the functions, behind math.h, stdint.h and string.h
  std::vector<CFunction> functions;  // by kernel
};
CFunctions c_functions(std::span<const CKernel> kernels, const CFunctionOptions& options);

}  // namespace relay::codegen
