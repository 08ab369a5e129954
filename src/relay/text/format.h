// The formatter: the same tokens and comments in a fixed style, which is that of the printer where it has one.
//
//   def @main(%x:Tensor[(2,4),float32]){let %y=%x+%x;%y}        becomes
//
//   def @main(%x: Tensor[(2, 4), float32]) {
//     let %y = %x + %x;
//     %y
//   }
//
// Brackets that fit stay on their line; else each of their parts gets a line of its own. A block with a `;`, or with a
// line break behind its `{`, gets lines of its own in any case. Single blank lines are kept. Only white space changes,
// and the metadata section stays as it is.
#pragma once

#include "relay/base/diagnostics.h"

namespace relay::text {

constexpr size_t line_width = 100;  // characters

// Formats a module's text. Refuses texts with a mistake in their syntax, and no others: an unknown operator may be
// formatted. format(format(t)) == format(t), in linear time.
Result<std::string> formatted(std::shared_ptr<const Source> source);

}  // namespace relay::text
