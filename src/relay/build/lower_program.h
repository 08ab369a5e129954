// A module after the passes, as lowered segments: what exec/ makes a program of.
//
//   const Entry entry = entry_of(typed);                              before the passes
//   RELAY_ASSIGN(LoweredProgram lowered,
//                lower_program(optimised, entry, {.lowering = lowering, .passes = program_passes()}));
//
// A module that is kernel calls on tensors and nothing else is one segment. Any other goes through `passes`, which form
// segments; work that is ready earlier becomes a segment of its own (split_segments.h); then it is decided which of
// them take many calls at once (batch_calls.h).
#pragma once

#include <functional>

#include "relay/build/batch_calls.h"
#include "relay/exec/build.h"
#include "relay/transform/pass.h"

namespace relay::build {

// What a run checks before it begins: of the sizes of @main's parameters, as the module says them before the passes, so
// that every executor asks for the same.
struct Entry {
  ir::Types params;
  std::vector<op::Condition> conditions;
};
// Of a typed module.
Entry entry_of(const ir::Module& module);
// The signature of @main, which checks them; of data types only the names.
Result<runtime::Signature> entry_signature(const ir::Module& module);

struct ProgramOptions {
  lower::LowerOptions lowering;  // of each segment; `calls` is filled in
  BatchCalls batch_calls = BatchCalls::Automatic;
  std::vector<std::string> passes{};        // of a program with control flow, functions or data
  std::vector<std::string> output_names{};  // of @main's results; without: "output", or "output0" and on
  bool verify = false;
  std::function<void(const transform::PassTrace&)> trace{};
};

struct SegmentReport {
  std::string name;
  runtime::Batching batching;
  std::string why;  // for people
};

// Groups and kernels of a module after the passes.
struct LoweredProgram {
  bool graph = true;                 // @main is one segment and nothing else
  ir::Module module;                 // else: after `passes`
  std::vector<op::Condition> entry;  // of that module's @main
  std::vector<exec::LoweredSegment> segments;
  std::vector<SegmentReport> batching;
};
// `entry`: of the module before the passes.
Result<LoweredProgram> lower_program(const ir::Module& module, const Entry& entry, const ProgramOptions& options);

}  // namespace relay::build
