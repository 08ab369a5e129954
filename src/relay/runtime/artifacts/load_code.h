// Loading machine code into this process.
#pragma once

#include <memory>
#include <string_view>

#include "relay/base/diagnostics.h"
#include "relay/runtime/kernel.h"

namespace relay::runtime {

// Loads an ELF shared object from memory. Its functions are found by name.
Result<std::shared_ptr<const KernelLibrary>> load_code(std::string_view elf);

}  // namespace relay::runtime
