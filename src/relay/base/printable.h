// Text from outside in messages: names, paths and lines may hold anything and be of any length.
#pragma once

#include <string>
#include <string_view>

namespace relay {

// What is not UTF-8, and control characters, which a terminal would obey, become \xNN; line ends and tabs stay.
std::string printable(std::string_view text);

// At most 200 bytes of it, cut between characters, then "...".
std::string shortened(std::string_view text);

}  // namespace relay
