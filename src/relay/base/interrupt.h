// Stopping long work from outside: the requesting thread sets a flag, which the work polls.
//
//   InterruptScope scope(flag);     on the thread that works
//   check_interrupt();              between two passes, before a kernel: throws Interrupted if the flag is set
#pragma once

#include <atomic>
#include <exception>
#include <memory>

namespace relay {

struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

using InterruptFlag = std::shared_ptr<std::atomic<bool>>;

// The flag of this thread; null if it cannot be interrupted.
inline thread_local InterruptFlag interrupt_flag;

class InterruptScope {
 public:
  explicit InterruptScope(InterruptFlag flag) : before_(std::move(interrupt_flag)) { interrupt_flag = std::move(flag); }
  ~InterruptScope() { interrupt_flag = std::move(before_); }
  InterruptScope(const InterruptScope&) = delete;

 private:
  InterruptFlag before_;
};

inline void check_interrupt() {
  if (interrupt_flag && interrupt_flag->load(std::memory_order_relaxed)) throw Interrupted();
}

}  // namespace relay
