// The segments of a program before they are written.
#pragma once

#include "relay/ir/expr.h"
#include "relay/lower/plan/function.h"
#include "relay/runtime/program/program.h"

namespace relay::exec {

// A segment of a module (a function with the attribute Segment) and its lowered function.
struct LoweredSegment {
  ir::FunctionRef function;
  lower::LoweredFunction lowered;
  runtime::Batching batching = runtime::Batching::None;  // if not None, it is lowered for many calls
};

}  // namespace relay::exec
