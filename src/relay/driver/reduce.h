// The smallest part of a program that still shows a fault.
//
//   Result<Part> small = reduce({module, inputs}, [&](const Part& part) { return is_wrong(part); });
#pragma once

#include <functional>
#include <vector>

#include "relay/ir/expr.h"
#include "relay/runtime/functions/value.h"

namespace relay::driver {

// A typed program, and the inputs of a run of @main.
struct Part {
  ir::Module module;
  std::vector<runtime::Value> inputs;
};
size_t count_calls(const Part& part);  // in @main

// `whole`: is_wrong holds for it. It also holds for the returned part: an expression of @main and calls from which it
// is computed; other values have become inputs, with the values that the evaluator computes. The result is reduced
// first, by bisection, then the depth below it, then single calls. Bodies of a `let`, a function or a clause are not
// split.
Result<Part> reduce(const Part& whole, const std::function<bool(const Part&)>& is_wrong);

}  // namespace relay::driver
