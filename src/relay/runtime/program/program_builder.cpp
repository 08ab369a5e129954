#include "relay/runtime/program/program_builder.h"

namespace relay::runtime {

Program with_function(const Program& graph) {
  Program p = graph;
  p.signature = graph_signature(graph);
  FunctionBuilder f("main", static_cast<uint32_t>(p.signature.inputs.size()));
  std::vector<Operand> args, results;
  for (uint32_t i = 0; i < p.signature.inputs.size(); ++i) args.push_back(last(i));
  for (uint32_t r : f.segment(0, args, static_cast<uint32_t>(p.signature.outputs.size()))) results.push_back(last(r));
  f.ret(results.size() == 1 ? results[0] : last(f.tuple(results)));
  p.functions.push_back(f.finish());
  return p;
}

}  // namespace relay::runtime
