// From lowered functions to something that runs: kernels compiled, constants packed, sizes translated, the program
// written.
//
//   Result<std::shared_ptr<runtime::Executable>> model = exec::build(lowered, {.target = target});     one function
//   exec::build_program(module, segments, names, options)                                              a whole program
//   exec::build_program(...) and exec::save(...) make the file of it (runtime/artifact.h).
//
// Work that depends on constants only (packing, transforming and folding weights) is done here, once, by the same
// kernels; what it read is dropped unless something else reads it. What would become larger by it (Winograd's and
// Strassen's forms) is done when the program is linked (runtime/program/program.h: Preparation). The result has only
// what a run needs.
#pragma once

#include <optional>

#include "relay/codegen/llvm/llvm.h"
#include "relay/exec/build_options.h"
#include "relay/exec/lowered_segment.h"
#include "relay/lower/lower.h"
#include "relay/runtime/artifact.h"

namespace relay::exec {

// A program and the loops of its kernels, by name; nothing compiled yet but what work on constants needed.
struct Built {
  std::shared_ptr<const runtime::Program> program;
  std::vector<loop::Kernel> kernels;
  // By segment: which step of the lowered function each step is. (Copies come after those, and are no step there.)
  std::vector<std::vector<int>> lowered_steps;
  // What was done, for people.
  int64_t constant_steps = 0;  // run here
  int64_t constant_bytes = 0;  // stored in the program
  int64_t prepared_bytes = 0;  // of constants that are made of those when the program is linked
  double constant_ms = 0;      // compiling and running them
};
Result<Built> build_program(const lower::LoweredFunction& lowered, const BuildOptions& options);
// A program with functions: `module` as the passes of driver/pipeline.h leave it (value_code.h), with all of its
// segments. `output_names`: of @main's results; those that have none get names. `conditions`: what is checked when a
// run begins.
Result<Built> build_program(const ir::Module& module, const std::vector<LoweredSegment>& segments,
                            const std::vector<std::string>& output_names, const std::vector<op::Condition>& conditions,
                            const BuildOptions& options);

// The program, if its functions are to be machine code; else null.
const runtime::Program* native_functions(const Built& built, const BuildOptions& options);

// Compiles in process.
Result<std::shared_ptr<runtime::Executable>> build(const lower::LoweredFunction& lowered, const BuildOptions& options);
Result<std::shared_ptr<runtime::Executable>> build(const Built& built, const BuildOptions& options);
// Compiles to a shared object and writes the artifact, of a program with functions for Vm (none: this one) or Aot.
// `notes`: see there.
Status save(const Built& built, const BuildOptions& options, std::vector<runtime::Note> notes, const std::string& path);

}  // namespace relay::exec
