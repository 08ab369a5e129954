// A step of a compilation, tried in a process of its own: a crash of the compiler or of a kernel is an outcome like
// another, and what the step took of memory is given back.
#pragma once

#include <functional>

#include "relay/driver/differences.h"
#include "relay/transform/pass.h"

namespace relay::driver {

struct Outcome {
  Differences differences{};     // beside the reference; where there are no results, one that says why
  std::string fault{};           // why there are none: "R0304", "SIGSEGV", "internal error"; else empty
  transform::Applied applied{};  // rules, where the step is a pass
};
bool is_right(const Outcome& outcome, double tolerance);
// Both are wrong in the same way: another result, the same diagnostic, the same signal.
bool is_same_fault(const Outcome& a, const Outcome& b, double tolerance);
std::string str(const Outcome& outcome, double tolerance);  // "right", "different", "refused (R0304)", "SIGSEGV"

// There is no result but diagnostics.
Outcome refused(const Diagnostics& errors);

// Says where a step is, for a message in case that it ends there: "compiling", "running".
using At = std::function<void(const std::string&)>;
Outcome tried(const std::function<Outcome(const At&)>& step);

}  // namespace relay::driver
