// What one run of a program with functions takes. Internal to the executable.
#pragma once

#include "relay/runtime/executable.h"

namespace relay::runtime {

struct Executable::Machine {
  explicit Machine(const LinkedProgram& linked) : context(linked) {}
  RunContext context;
  std::unique_ptr<FunctionExecutor> functions;
};

}  // namespace relay::runtime
