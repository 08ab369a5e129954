// Runs preparations, which compute constants when a program is loaded (program.h), on all threads.
#pragma once

#include "relay/runtime/kernel.h"
#include "relay/runtime/program/program.h"

namespace relay::runtime {

// Returns the program itself if there is nothing to do. Constants that only preparations read are released.
// corrupt_file if the library lacks a kernel, out_of_memory.
Result<std::shared_ptr<const Program>> with_constants(std::shared_ptr<const Program> program,
                                                      const KernelLibrary* library);

}  // namespace relay::runtime
