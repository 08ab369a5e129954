// Kernels in scalar form: for code that leaves vectors to the next compiler, and for devices, where each thread
// computes scalars.
#pragma once

#include <optional>

#include "relay/loop/loop.h"

namespace relay::codegen {

// The kernel with products of narrow numbers written out, and without tiles.
loop::Kernel without_dots(loop::Kernel kernel);

// The kernel with the loops unrolled that index a register buffer, so that its elements can be scalars. Loops over the
// lanes of vectors stay loops if `keep_lanes`.
loop::Kernel with_scalar_tiles(const loop::Kernel& kernel, bool keep_lanes);

// True for register buffers with few elements.
bool may_be_scalars(const loop::Buffer& buffer);
// Calls visit(buffer, indices, stored) for each access.
void for_each_access(const loop::Stmt& s, function_ref<void(const loop::Buffer&, const scalar::Exprs&, bool)> visit);

// A kernel for a device whose threads share its tasks: each thread runs some tasks of `kernel`, in any order. If it has
// blocks of threads (loop/blocks.h), each block runs some tasks.
struct DeviceForm {
  loop::Kernel kernel;    // finished: without vectors, polynomials for exp and similar functions; tiles are of warps
  scalar::Expr per_task;  // its tasks for each task of the original, over its shape variables
  scalar::Expr thread{};  // a variable of its body, the number of the thread in its block; null without blocks
  int64_t threads = 1;    // of a block
};
// `fine_tasks`: the loops of a task are spread over threads (loop::spread), as GPUs need it. Kernels with blocks of
// threads stay as they are.
DeviceForm device_form(const loop::Kernel& kernel, bool fine_tasks);

}  // namespace relay::codegen
