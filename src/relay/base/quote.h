// String literals of Relay text.
//
//   quote("a\"b")   is   "a\\"b" with its quotation marks; unquote() is the inverse
//
// Control characters and invalid UTF-8 are written as \xNN (printable.h), so that any byte string can be a name.
#pragma once

#include <string>
#include <string_view>

namespace relay {

std::string quote(std::string_view text);
// Unescapes `quoted`, which includes its quotation marks. A backslash that begins no escape is kept: version 0.0.5 had
// no escapes.
std::string unquote(std::string_view quoted);

}  // namespace relay
