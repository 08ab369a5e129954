// What lowering is asked for.
#pragma once

#include <functional>

#include "relay/base/target_desc.h"
#include "relay/loop/loop.h"
#include "relay/lower/plan/external_code.h"
#include "relay/lower/schedule/mutation.h"
#include "relay/lower/schedule/schedule_rule.h"

namespace relay::lower {

// What a result may differ by from the sum that a program writes down (docs/numerics.md).
enum class Numerics : uint8_t {
  Fp32,  // float32 throughout; infinities, NaN and huge values come out as the program's own arithmetic gives them
  Fast,  // without a check for such values
};
inline const char* name(Numerics numerics) { return numerics == Numerics::Fast ? "fast" : "fp32"; }

// The names that the functions of one program share: groups have names of their own, equal kernels one.
struct LowerNames {
  std::map<std::string, int> groups, kernels;         // how often each was wanted
  std::map<std::string, std::string> kernel_of_text;  // the name of the kernel with these loops
};

struct LowerOptions {
  TargetDesc target;
  Numerics numerics = Numerics::Fp32;
  // Schedules given by hand, by group name: the text replaces the rule's.
  std::map<std::string, std::string> schedules;
  // The code of functions for other compilers; null: there are none.
  const ExternalCodes* externals = nullptr;
  // For so many calls at once, a variable: every parameter has a row for each. Null: for one, as it is written.
  Expr calls{};
  // Whether code can be made of a kernel; none: nobody is asked. What it refuses cannot be built.
  std::function<Status(const loop::Kernel&)> check_code{};
  // A schedule of a rule that cannot be built is an error; otherwise it gives way to the next simpler one.
  bool strict = false;
  // For tests: what these rules make counts as what cannot be built, and a mistake that the nest makes.
  RuleSet refused{};
  Mutation planted = Mutation::None;
  // Forms that the plan of a function leaves out; lower() adds those whose schedules could not be built.
  RuleSet without{};
};

}  // namespace relay::lower
