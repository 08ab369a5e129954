// Sizes of memory and files in messages, in the unit that shows them: "12.5 KiB", "3.25 MiB", "1.5 GiB".
#pragma once

#include <cstdint>
#include <string>

namespace relay {

std::string bytes_text(int64_t bytes);

}  // namespace relay
