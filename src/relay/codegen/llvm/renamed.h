// Object files with another name for their kernel. Internal to codegen/.
#pragma once

#include <optional>
#include <string>

namespace relay::codegen {

// An ELF object file for a 64-bit little-endian processor, in which the symbol `from` has the name `to`. Unset if it is
// no such file, or has no such symbol.
std::optional<std::string> renamed(std::string object, const std::string& from, const std::string& to);

}  // namespace relay::codegen
