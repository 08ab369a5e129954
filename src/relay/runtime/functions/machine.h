// The instruction sets of the machine that this program runs on.
#pragma once

#include <map>
#include <string>

namespace relay::runtime {

// The instruction sets that generated code may need, by LLVM's names ("avx2", "i8mm"), and whether this machine has
// each.
const std::map<std::string, bool>& machine_features();

}  // namespace relay::runtime
