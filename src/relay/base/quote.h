// String literals of Relay text.
//
//   quote("a\"b")   is   "a\\"b" with its quotation marks; unquote() is the inverse
//
// What a terminal would obey and what is not UTF-8 is written \xNN (printable.h), so that any bytes are a name.
#pragma once

#include <string>
#include <string_view>

namespace relay {

std::string quote(std::string_view text);
// `quoted` with its quotation marks. A backslash that begins no escape is itself: version 0.0.5 had no escapes.
std::string unquote(std::string_view quoted);

}  // namespace relay
