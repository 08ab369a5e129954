// Layouts: the order of an array's axes in letters, "NCHW". A lower-case letter with a number is the place within a
// block of so many: "NCHW8c" has the channels in blocks of 8, where C counts the blocks.
#pragma once

#include <string>
#include <vector>

#include "relay/op/common.h"

namespace relay::op {

// One axis: its letter in upper case, and the extent of a block; 0: the axis that counts the blocks, or a whole one.
struct LayoutAxis {
  char letter;
  int64_t block;
};

// (C1) A layout is letters, the lower-case ones behind a number; each letter once in upper case, and at most once in
// lower case. `name` is the attribute that the layout is of, for the message.
Result<std::vector<LayoutAxis>> layout_axes(const char* name, const std::string& layout);
// "8c"
std::string layout_text(const LayoutAxis& axis);

// The extent of a letter's block; 1 where it is in none.
int64_t block_of(const std::vector<LayoutAxis>& axes, char letter);
// Where a letter's axis is, or the one within its blocks; axes.size(): there is none.
size_t place_of(const std::vector<LayoutAxis>& axes, char letter, bool inner);

// Whether some axis is in blocks.
bool is_blocked(const std::string& layout);
// "NCHW4c": "NCHW"; a layout without blocks as it is.
std::string without_blocks(const std::string& layout);

}  // namespace relay::op
