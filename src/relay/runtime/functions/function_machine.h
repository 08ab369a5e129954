// The state for one run of a program with functions, reused between runs.
#pragma once

#include <memory>

#include "relay/runtime/context.h"

namespace relay::runtime {

struct FunctionMachine {
  explicit FunctionMachine(const LinkedProgram& linked) : context(linked) {}
  RunContext context;
  std::unique_ptr<FunctionExecutor> functions;
};

}  // namespace relay::runtime
