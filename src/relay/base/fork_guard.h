// Work that fork() must not cut in two: while a guard exists, fork() waits. Without it, a lock that another thread
// holds at that moment would stay locked in the child for ever.
//
//   ForkGuard guard;             around work of a background thread in a library with locks of its own
//   ForkSafeLock lock(mutex);    holds a mutex that the child may need
#pragma once

#include <cstdint>
#include <mutex>

namespace relay {

class ForkGuard {
 public:
  ForkGuard();
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
};

class ForkSafeLock {
 public:
  explicit ForkSafeLock(std::mutex& mutex) : lock_(mutex) {}

 private:
  const ForkGuard guard_;  // first: a thread that waits for the guard holds no mutex
  const std::lock_guard<std::mutex> lock_;
};

// The number of forks between the process that first called this, and this process.
uint64_t fork_generation();

}  // namespace relay
