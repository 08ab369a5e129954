// Formats sizes of memory and files for messages, in the largest fitting unit: "12.5 KiB", "3.25 MiB", "1.5 GiB".
#pragma once

#include <cstdint>
#include <string>

namespace relay {

std::string bytes_text(int64_t bytes);

}  // namespace relay
