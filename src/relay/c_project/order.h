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

// Adds notes on the arrays that are in a memory at its peak: sizes, the steps that write them, and the bytes that each
// costs. `number`: of the memory; 0 is the workspace.
void add_peak(const runtime::Program& graph, const Memory& memory, uint32_t number, Diagnostic& d);

// out_of_memory with the notes of add_peak().
Diagnostic over_limit(const runtime::Program& graph, const Memory& memory, int64_t limit);

}  // namespace relay::c_project
