// Foreign text in messages: names, paths and lines may contain anything and have any length.
#pragma once

#include <string>
#include <string_view>

namespace relay {

// Replaces invalid UTF-8, control characters (which a terminal would obey) and characters that change the writing
// direction (which would make the displayed text differ from the actual one) by \xNN. Line ends and tabs stay.
std::string printable(std::string_view text);

// The same for names in tables: line ends and tabs become \xNN too.
std::string printable_line(std::string_view text);

// Shortens a message to a readable length: no word of more than 200 bytes, at most 2,000 bytes in all; the rest becomes
// "...".
std::string readable(std::string_view text);

// At most the first 200 bytes, cut between characters, then "...".
std::string shortened(std::string_view text);

}  // namespace relay
