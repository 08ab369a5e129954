// The options of lowering.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "relay/base/device_name.h"
#include "relay/loop/loop.h"
#include "relay/lower/plan/external_code.h"
#include "relay/lower/schedule/mutation.h"
#include "relay/lower/schedule/schedule_rule.h"
#include "relay/machine/target_desc.h"

namespace relay::lower {

// The permitted deviation of a result from the sum that a program specifies (docs/numerics.md).
enum class Numerics : uint8_t {
  // float32 throughout; infinities, NaN and huge values come out as the program's own arithmetic yields them. Subnormal
  // numbers count as zero.
  Fp32,
  Ieee,  // like Fp32, with subnormal numbers
  Fast,  // like Fp32, without a check for infinities, NaN and huge values
};
inline const char* name(Numerics numerics) {
  return numerics == Numerics::Fast ? "fast" : numerics == Numerics::Ieee ? "ieee" : "fp32";
}

// The names shared by the functions of one program: each group has its own, equal kernels have one.
struct LowerNames {
  std::map<std::string, int> groups, kernels;         // number of requests by name
  std::map<std::string, std::string> kernel_of_text;  // the name of the kernel with these loops
};

struct FunctionPlan;

// A step of planning that has run.
struct PlanTrace {
  const char* step;     // "choose_order"
  const char* purpose;  // in words
  double seconds = 0;
  const FunctionPlan& after;
};

struct LowerOptions {
  TargetDesc target;
  Numerics numerics = Numerics::Fp32;
  // User-specified schedules, by group name: the text replaces the rule's.
  std::map<std::string, std::string> schedules;
  // Measured decisions (schedule/candidates.h), as text by group_key(). Those that cannot be built are left out.
  std::map<std::string, std::string> tuned{};
  // The code of functions for other compilers; null if there are none.
  const ExternalCodes* externals = nullptr;
  // The devices of the program; the first is the host. The function's parameters and results are tensors on these
  // devices, by index; empty if all are on the host.
  std::vector<DeviceName> devices{DeviceName{}};
  std::vector<int> param_devices{}, result_devices{};
  // The number of calls at once, a variable: every parameter has a row for each. Null if the function is lowered for
  // one call, as written.
  scalar::Expr calls{};
  // Checks that code can be generated for a kernel. If unset, code generation is not checked. Kernels that it refuses
  // cannot be built. `text`: BuiltKernel::text.
  std::function<Status(const loop::Kernel& kernel, const std::string& text)> check_code{};
  // Called for each kernel of the function, once, as soon as it has its name. May be unset.
  std::function<void(const loop::Kernel& kernel, const std::string& text)> take_kernel{};
  // Called after every step of planning (steps.def). May be unset.
  std::function<void(const PlanTrace& trace)> trace_plan{};
  // Makes it an error if a rule's schedule cannot be built. Otherwise the next simpler schedule is used.
  bool strict = false;
  // For tests: rules whose schedules are treated as impossible to build, and a bug planted in the nest.
  RuleSet refused{};
  Mutation injected_bug = Mutation::None;
  // Forms that the function's plan leaves out; lower() adds those whose schedules could not be built.
  RuleSet without{};
};

}  // namespace relay::lower
