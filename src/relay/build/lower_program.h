// Lowers a module after the passes to segments, from which exec/ makes a program.
//
//   const Entry entry = entry_of(typed);                              before the passes
//   RELAY_ASSIGN(LoweredProgram lowered,
//                lower_program(optimised, entry, {.lowering = lowering, .passes = program_passes()}));
//
// A module that consists of kernel calls on tensors only is one segment. Any other goes through `passes`, which form
// segments; work that is ready earlier becomes a separate segment (split_segments.h); then the segments that take many
// calls at once are chosen (batch_calls.h).
#pragma once

#include <functional>

#include "relay/build/batch_calls.h"
#include "relay/exec/build.h"
#include "relay/transform/pass.h"

namespace relay::build {

// The checks at the beginning of a run: constraints on the sizes of @main's parameters, taken from the module before
// the passes, so that every executor checks the same.
struct Entry {
  ir::Types params;
  std::vector<op::Condition> conditions;
};
// The entry of a typed module.
Entry entry_of(const ir::Module& module);
// The signature of @main, with its checks. Data types have only their names.
Result<runtime::Signature> entry_signature(const ir::Module& module);

struct ProgramOptions {
  lower::LowerOptions lowering;  // of each segment; `calls` is filled in
  BatchCalls batch_calls = BatchCalls::Automatic;
  std::vector<std::string> passes{};        // for a program with control flow, functions or data
  std::vector<std::string> output_names{};  // names of @main's results; if empty, "output", or "output0" and so on
  bool verify = false;
  std::function<void(const transform::PassTrace&)> trace{};
};

struct SegmentReport {
  std::string name;
  runtime::Batching batching;
  std::string reason;  // as a text
};

// Groups and kernels of a module after the passes.
struct LoweredProgram {
  bool graph = true;                 // @main is one segment and nothing else
  ir::Module module;                 // if not a graph: the module after `passes`
  std::vector<op::Condition> entry;  // of that module's @main
  std::vector<exec::LoweredSegment> segments;
  std::vector<SegmentReport> batching;
  std::vector<DeviceName> devices;  // the first is the host
};
// `entry`: belongs to the module before the passes.
Result<LoweredProgram> lower_program(const ir::Module& module, const Entry& entry, const ProgramOptions& options);

}  // namespace relay::build
