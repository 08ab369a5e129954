// The x86-64 machine that this program runs on, by its own account.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace relay::target {

struct ThisX86 {
  std::string cpu;                 // LLVM's name
  std::set<std::string> features;  // LLVM's names
  // Bytes of the data caches; 0 if the processor does not say.
  int64_t l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;
};

// Unset if this program is compiled for another architecture.
std::optional<ThisX86> this_x86();

}  // namespace relay::target
