// Kernels as PTX, the assembly language that NVIDIA's drivers compile. Each is an entry over all tasks, which its
// threads share:
//
//   .visible .entry kernel_NAME(.param .u64 data, ..., .param .u64 n, ..., .param .u64 tasks,
//                               .param .u64 scratch, .param .u64 scratch_bytes)
//
// The addresses of its arrays in the device's memory, the shape variables, the number of tasks, and scratch memory for
// all threads, with the bytes of each. Blocks and grids have one dimension and any size up to ptx_block threads a
// block. Values are those of the CPU: polynomials for exp and similar functions, and products are added with one
// rounding only where the CPU does so.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "relay/codegen/backend.h"

namespace relay::codegen {

constexpr int ptx_block = 256;

// A target whose code is PTX for a processor, as "sm_80". Its other figures are those of no machine.
TargetDesc ptx_target(std::string processor);

// `kernels`: as lowering made them.
Result<std::string> ptx_text(std::span<const loop::Kernel> kernels, const TargetDesc& target);
// The same as LLVM's language, optimised.
Result<std::string> nvptx_llvm_text(std::span<const loop::Kernel> kernels, const TargetDesc& target);

// illegal_schedule if the target lacks the instruction of a step on tiles (loop/warp_tiles.h).
Status check_warp_tiles(const loop::Kernel& kernel, const TargetDesc& target);

// illegal_schedule if the target lacks an asynchronous copy of the kernel (loop/async_copies.h).
Status check_async_copies(const loop::Kernel& kernel, const TargetDesc& target);

// `target`: of target/cuda.
std::unique_ptr<Backend> ptx_backend(const TargetDesc& target);

}  // namespace relay::codegen
