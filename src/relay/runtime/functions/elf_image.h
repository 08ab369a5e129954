// A shared object that is mapped without the system's loader, for programs that are linked statically: they have none.
#pragma once

#include "relay/runtime/artifacts/load_code.h"

namespace relay::runtime {

// Places the segments of an ELF shared object for this machine in memory and relocates them. The object must define all
// symbols that it uses, and must have no thread-local variables and no initialisers, as code of an artifact has none.
// corrupt_file if it has any of these, or if a table lies outside of the file or of its segments.
Result<std::shared_ptr<const KernelLibrary>> map_code(std::string_view elf);

}  // namespace relay::runtime
