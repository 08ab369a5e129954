// Layouts: the order of an array's axes in letters, "NCHW". A lower-case letter after a number is the position within a
// block of that extent: "NCHW8c" has the channels in blocks of 8, where C counts the blocks.
#pragma once

#include <string>
#include <vector>

#include "relay/op/common.h"

namespace relay::op {

// An axis: its letter in upper case, and the extent of a block; 0 for the axis that counts the blocks, or for a whole
// axis.
struct LayoutAxis {
  char letter;
  int64_t block;
};

// (C1) A layout consists of letters, with a number before each lower-case one; each letter occurs once in upper case,
// and at most once in lower case. `name` is the layout's attribute, for the message.
Result<std::vector<LayoutAxis>> layout_axes(const char* name, const std::string& layout);
// "8c"
std::string layout_text(const LayoutAxis& axis);

// The block extent of a letter; 1 if it is not blocked.
int64_t block_of(const std::vector<LayoutAxis>& axes, char letter);
// The position of a letter's axis, or of the axis within its blocks; axes.size() if there is none.
size_t place_of(const std::vector<LayoutAxis>& axes, char letter, bool inner);

// True if some axis is blocked.
bool is_blocked(const std::string& layout);
// "NCHW4c" becomes "NCHW"; a plain layout is unchanged.
std::string without_blocks(const std::string& layout);

}  // namespace relay::op
