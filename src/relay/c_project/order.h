// The order of a program's steps that needs the least memory at a time.
#pragma once

#include <span>

#include "relay/c_project/memory.h"
#include "relay/loop/loop.h"

namespace relay::c_project {

// The graph with its steps in the order with the smallest peak that a beam search finds; exact for a few branches.
// `memory`: of the graph as it is. `kernels`: by Program::kernels. `scratch_bytes`: by kernel.
runtime::Program in_order_of_least_peak(const runtime::Program& graph, const Memory& memory,
                                        std::span<const loop::Kernel> kernels, std::span<const int64_t> scratch_bytes);

// out_of_memory: the arrays that are in the workspace at its peak, with their sizes and the steps that write them.
Diagnostic over_limit(const runtime::Program& graph, const Memory& memory, std::span<const int64_t> scratch_bytes,
                      int64_t limit);

}  // namespace relay::c_project
