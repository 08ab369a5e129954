// The memory for values and frames that a run of a C project needs (c_project/program_runtime.cpp).
#pragma once

#include "relay/runtime/executable.h"

namespace relay::driver {

// Runs a program with functions on these values and counts as its C project does on a machine with pointers of 8 bytes:
// the most bytes of the arena in use. Values of data types among the inputs are counted, tensors of the caller are not.
Result<int64_t> rehearsed_arena_bytes(const runtime::Program& program,
                                      std::shared_ptr<const runtime::KernelLibrary> library,
                                      std::span<const runtime::Value> inputs);

}  // namespace relay::driver
