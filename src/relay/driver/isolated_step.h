// A step of a compilation that runs in a separate process: a crash of the compiler or of a kernel is an ordinary
// outcome, and the memory of the step is freed.
#pragma once

#include <functional>

#include "relay/driver/differences.h"
#include "relay/transform/pass.h"

namespace relay::driver {

struct Outcome {
  Differences differences{};     // from the reference; without results, a single one with the reason
  std::string fault{};           // reason why there are no results: "R0304", "SIGSEGV", "internal error"; else empty
  transform::Applied applied{};  // rules applied, if the step is a pass
};
bool is_right(const Outcome& outcome, double tolerance);
// True if both are wrong in the same way: another result, the same diagnostic, the same signal.
bool is_same_fault(const Outcome& a, const Outcome& b, double tolerance);
std::string str(const Outcome& outcome, double tolerance);  // "right", "different", "refused (R0304)", "SIGSEGV"

// An outcome with diagnostics instead of results.
Outcome refused(const Diagnostics& errors);

// Reports the progress of a step, for a message if it ends there: "compiling", "running".
using At = std::function<void(const std::string&)>;
Outcome run_isolated(const std::function<Outcome(const At&)>& step);

}  // namespace relay::driver
