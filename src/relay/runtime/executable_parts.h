// What runs keep of an executable from one to the next.
#pragma once

#include "relay/runtime/executable.h"

namespace relay::runtime {

struct Executable::Graph {
  Graph(const LinkedProgram& linked, const Plan& plan) : runner(linked, linked.program->graph(), plan) {}
  SegmentRunner runner;
  std::vector<Tensor> inputs;  // those of a run, aligned
  std::vector<void*> input_data, output_data;
  void clear() { inputs.clear(), input_data.clear(), output_data.clear(); }
};

// Everything for one run of functions.
struct Executable::Machine {
  explicit Machine(const LinkedProgram& linked) : context(linked) {}
  RunContext context;
  std::unique_ptr<FunctionExecutor> functions;
};

}  // namespace relay::runtime
