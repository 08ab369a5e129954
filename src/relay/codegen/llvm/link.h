// The linkers of LLVM, in this process. Internal to codegen/.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "relay/base/diagnostics.h"

namespace relay::codegen {

enum class Linker : uint8_t { Elf, Wasm };

// Links all of the object files into one file. A failure of the linker is an error of this program.
Result<std::string> link(Linker linker, std::span<const std::string_view> objects,
                         const std::vector<std::string>& arguments);

}  // namespace relay::codegen
