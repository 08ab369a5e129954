// What runs keep of an executable from one to the next.
#pragma once

#include "relay/runtime/context.h"

namespace relay::runtime {

// One run of a graph: what points to its arrays, kept so that the next allocates nothing.
struct GraphRun {
  GraphRun(const LinkedProgram& linked, const Plan& plan) : runner(linked, linked.program->graph(), plan) {}
  SegmentRunner runner;
  std::vector<Tensor> inputs;  // those of a run, aligned
  std::vector<void*> input_data, output_data;
  void clear() { inputs.clear(), input_data.clear(), output_data.clear(); }
};

// Everything for one run of functions.
struct Machine {
  explicit Machine(const LinkedProgram& linked) : context(linked) {}
  RunContext context;
  std::unique_ptr<FunctionExecutor> functions;
};

}  // namespace relay::runtime
