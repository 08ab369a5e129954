// From lowered functions to an executable: compiles kernels, packs constants, translates sizes and writes the program.
//
//   Result<std::shared_ptr<runtime::Executable>> model = exec::build(lowered, {.target = target});     one function
//   exec::build_program(module, segments, names, options)                                              a whole program
//   exec::build_program(...) and exec::save(...) write it to a file (runtime/artifacts/artifact.h).
//
// Work that depends on constants only (packing, transforming and folding weights) is done here, once, by the same
// kernels; its inputs are dropped unless they have other readers. Work that would make constants larger (Winograd's and
// Strassen's forms) is done when the program is linked (runtime/program/program.h: Preparation). The result has only
// what a run needs.
#pragma once

#include <optional>

#include "relay/exec/build_options.h"
#include "relay/exec/built.h"
#include "relay/exec/lowered_segment.h"
#include "relay/lower/lower.h"
#include "relay/runtime/artifacts/artifact.h"

namespace relay::exec {

Result<Built> build_program(const lower::LoweredFunction& lowered, const BuildOptions& options);
// Builds a program with functions: `module` as the passes of driver/pipeline.h leave it (value_code.h), with all of its
// segments. `output_names`: of @main's results; unnamed results get names. `conditions`: constraints that are checked
// at the beginning of a run.
Result<Built> build_program(const ir::Module& module, const std::vector<LoweredSegment>& segments,
                            const std::vector<std::string>& output_names, const std::vector<op::Condition>& conditions,
                            const BuildOptions& options);

// The program if its functions are to be machine code, else null.
const runtime::Program* native_functions(const Built& built, const BuildOptions& options);

// Compiles in process.
Result<std::shared_ptr<runtime::Executable>> build(const lower::LoweredFunction& lowered, const BuildOptions& options);
Result<std::shared_ptr<runtime::Executable>> build(const Built& built, const BuildOptions& options);
// Compiles to a shared object and writes the artifact. A program with functions is compiled for Vm (also if unset) or
// Aot. `notes`: see runtime/artifacts/artifact.h.
Status save(const Built& built, const BuildOptions& options, std::vector<runtime::Note> notes, const std::string& path);

}  // namespace relay::exec
