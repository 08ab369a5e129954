// Whole files to and from strings, with diagnostics.
#pragma once

#include <string>

#include "relay/base/diagnostics.h"

namespace relay::driver {

Result<std::string> read_file(const std::string& path);
// Writes beside `path` first and renames, so that no half-written file is ever seen under its name.
Status write_file(const std::string& path, std::string_view bytes);

}  // namespace relay::driver
