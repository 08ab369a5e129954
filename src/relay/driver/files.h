// Whole files to and from strings, with diagnostics.
#pragma once

#include <string>
#include <vector>

#include "relay/base/output_file.h"

namespace relay::driver {

Result<std::string> read_file(const std::string& path);
// bad_option if `output` is one of the files `inputs`, by whatever name.
Status check_output(const std::string& output, const std::vector<std::string>& inputs);

}  // namespace relay::driver
