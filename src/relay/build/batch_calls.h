// Chooses the segments of a program that take many calls at once (runtime/call_queue.h), from the structure of the
// program.
//
//   def @tree(%t) { match (%t) { Leaf(%x) => %x, Node(%l, %r) => tanh(nn.dense(add(@tree(%l), @tree(%r)), %w)) } }
//
// A call waits if that pays: its segment reads large constants and uses each of their elements once or a few times, so
// that reading them dominates the time of a call; and there are calls that do not depend on each other, which is the
// case if a function reaches itself by two calls on one path through it (@tree), or is called by one that does.
// Segments without such constants then also wait if an argument waits and they copy little. A loop reaches itself by
// one call, so its segments never wait.
//
// No call can wait if sizes are not constants, if no argument can have a row per call, or if a result is a condition or
// a shape, which code reads.
#pragma once

#include "relay/ir/expr.h"
#include "relay/ir/node_map.h"
#include "relay/lower/lower.h"
#include "relay/runtime/program/program.h"

namespace relay::build {

// Policy for calls of segments that wait in order to run together.
enum class BatchCalls : uint8_t { Never, Automatic, WhereverLegal };

// The segments that are called by functions of which many independent calls may be in progress, such as @tree.
ir::NodeSet repeated_segments(const ir::Module& module);

// The cost of one call of a segment.
struct CallCost {
  std::string illegal;         // the reason why no call can wait, or ""
  int64_t bytes = 0;           // of arguments and results
  int64_t constant_bytes = 0;  // of constants whose elements are used once or a few times
  bool pays() const;           // true if waiting pays
  bool may_wait() const;       // true if waiting pays, or does no harm while an argument waits
};
// `lowering`: the options with which segments are lowered, each for one call.
Result<CallCost> cost_of_call(const ir::FunctionRef& segment, const lower::LowerOptions& lowering);

struct BatchChoice {
  runtime::Batching batching = runtime::Batching::None;
  std::string reason;  // as a text: "reads 720 kB of constants a call"
};
// `module`: after program_passes(). `lowering`: the options with which `segments` are lowered, each for one call.
Result<std::vector<BatchChoice>> choose_batching(const ir::Module& module, const std::vector<ir::FunctionRef>& segments,
                                                 BatchCalls batch, const lower::LowerOptions& lowering);

}  // namespace relay::build
