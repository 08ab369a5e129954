// The smallest part of a program that still shows a fault.
//
//   Result<Part> small = reduce({module, inputs}, [&](const Part& part) { return is_wrong(part); });
#pragma once

#include <functional>
#include <vector>

#include "relay/ir/expr.h"
#include "relay/runtime/value.h"

namespace relay::driver {

// A typed program, and the inputs of a run of @main.
struct Part {
  ir::Module module;
  std::vector<runtime::Value> inputs;
};
size_t count_calls(const Part& part);  // in @main

// `whole`: is_wrong holds for it. Of what comes out it holds too: an expression of @main and calls that it is computed
// from; others have become inputs, with the values that the evaluator finds. The result is cut first, by halves, then
// the depth below it, then single calls. What is bound by a `let`, a function or a clause is not cut apart.
Result<Part> reduce(const Part& whole, const std::function<bool(const Part&)>& is_wrong);

}  // namespace relay::driver
