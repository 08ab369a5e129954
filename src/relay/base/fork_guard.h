// Work that fork() must not cut in two: while a guard exists, fork() waits. Without it, a lock that another thread
// holds at that moment would stay locked in the child for ever.
//
//   ForkGuard guard;   around work of a background thread in a library with locks of its own
#pragma once

#include <cstdint>

namespace relay {

class ForkGuard {
 public:
  ForkGuard();
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
};

// The number of forks between the process that first called this, and this process.
uint64_t fork_generation();

}  // namespace relay
