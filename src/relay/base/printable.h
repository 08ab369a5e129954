// Text from outside in messages: names, paths and lines may hold anything and be of any length.
#pragma once

#include <string>
#include <string_view>

namespace relay {

// What is not UTF-8, and control characters, which a terminal would obey, become \xNN; line ends and tabs stay. So do
// those that turn the direction of writing: what is read would not be what is there.
std::string printable(std::string_view text);

// Of one line: line ends and tabs become \xNN too. For names in tables.
std::string printable_line(std::string_view text);

// A message as long as a person reads: no word of more than 200 bytes, at most 2,000 bytes in all; the rest is "...".
std::string readable(std::string_view text);

// At most 200 bytes of it, cut between characters, then "...".
std::string shortened(std::string_view text);

}  // namespace relay
