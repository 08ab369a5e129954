// Which segments of a program take many calls at once (runtime/call_queue.h), from the structure of the program.
//
//   def @tree(%t) { match (%t) { Leaf(%x) => %x, Node(%l, %r) => tanh(nn.dense(add(@tree(%l), @tree(%r)), %w)) } }
//
// A call waits where that pays: its segment reads constants that are large and uses each of their elements once or a few times,
// so that reading them is what a call takes; and there are calls that do not depend on each other, which is where a function
// reaches itself by two calls on one way through it (@tree), or is called by one that does. Then segments without such constants
// wait too if an argument waits, if they copy little. A loop reaches itself by one call, so its segments never wait.
//
// No call can wait where sizes are not constants, where there is nothing to give a row of, and where a result is a condition or a
// shape, which code reads.
#pragma once

#include "relay/driver/compile.h"

namespace relay::driver {

struct BatchChoice {
  runtime::Batching batching = runtime::Batching::None;
  std::string why;  // for people: "reads 720 kB of constants a call"
};
// `module`: after program_passes(). `how`: as segments are lowered; `segments` are, each for one call.
Result<std::vector<BatchChoice>> choose_batching(const ir::Module& module, const std::vector<ir::FunctionRef>& segments,
                                                 BatchCalls batch, const lower::LowerOptions& how);

}  // namespace relay::driver
