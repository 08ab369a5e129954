// Which segments of a program take many calls at once (runtime/call_queue.h), from the structure of the program.
//
//   def @tree(%t) { match (%t) { Leaf(%x) => %x, Node(%l, %r) => tanh(nn.dense(add(@tree(%l), @tree(%r)), %w)) } }
//
// A call waits where that pays: its segment reads constants that are large and uses each of their elements once or a
// few times, so that reading them is what a call takes; and there are calls that do not depend on each other, which is
// where a function reaches itself by two calls on one way through it (@tree), or is called by one that does. Then
// segments without such constants wait too if an argument waits, if they copy little. A loop reaches itself by one
// call, so its segments never wait.
//
// No call can wait where sizes are not constants, where there is nothing to give a row of, and where a result is a
// condition or a shape, which code reads.
#pragma once

#include "relay/ir/expr.h"
#include "relay/ir/node_map.h"
#include "relay/lower/lower.h"
#include "relay/runtime/program/program.h"

namespace relay::build {

// Whether calls of segments wait, to be run together.
enum class BatchCalls : uint8_t { Never, Automatic, WhereverLegal };

// The segments that are called by functions of which many calls may go on without one waiting for the other, as @tree.
ir::NodeSet repeated_segments(const ir::Module& module);

// What one call of a segment takes.
struct CallCost {
  std::string illegal;         // why no call can wait
  int64_t bytes = 0;           // of arguments and results
  int64_t constant_bytes = 0;  // that are read and used once or a few times
  bool pays() const;           // to wait
  bool may_wait() const;       // it pays, or it does no harm where an argument waits
};
// `lowering`: as segments are lowered, each for one call.
Result<CallCost> cost_of_call(const ir::FunctionRef& segment, const lower::LowerOptions& lowering);

struct BatchChoice {
  runtime::Batching batching = runtime::Batching::None;
  std::string why;  // for people: "reads 720 kB of constants a call"
};
// `module`: after program_passes(). `lowering`: as segments are lowered; `segments` are, each for one call.
Result<std::vector<BatchChoice>> choose_batching(const ir::Module& module, const std::vector<ir::FunctionRef>& segments,
                                                 BatchCalls batch, const lower::LowerOptions& lowering);

}  // namespace relay::build
