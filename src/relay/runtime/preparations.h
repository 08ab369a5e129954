// The constants of a program as its kernels read them: those that preparations make (program.h) are made, on all
// threads.
#pragma once

#include "relay/runtime/kernel.h"
#include "relay/runtime/program/program.h"

namespace relay::runtime {

// The program itself where there is nothing to do. What only preparations read leaves memory. corrupt_file when the
// library lacks a kernel, out_of_memory.
Result<std::shared_ptr<const Program>> with_constants(std::shared_ptr<const Program> given,
                                                      const KernelLibrary* library);

}  // namespace relay::runtime
