// The difference of two printed programs, for readers.
#pragma once

#include <string>

namespace relay::cli {

// The unified difference of two texts, three lines of context around each change; empty if they are equal. The printer
// numbers values and constants in order (%0, %1): lines that differ only in such numbers count as equal. `colour`:
// removed lines red, added ones green.
//
// E. Myers, An O(ND) difference algorithm and its variations, 1986, up to 2,000 changed lines; if there are more, all
// lines between the first and the last change are removed and added.
std::string difference(const std::string& before, const std::string& after, bool colour);

}  // namespace relay::cli
