// Each product of warps in machine/instructions.def, as PTX and interpreted as loops.
#pragma once

#include <string>

namespace relay {

// Compares the results bit for bit; on these inputs every sum is exact. Returns the first problem, or "".
// `count`: the number of instructions.
std::string check_warp_products(int& count);

}  // namespace relay
