// Artifacts of built programs.
#include "relay/codegen/device_backend.h"
#include "relay/exec/artifact_target.h"
#include "relay/exec/build.h"
#include "relay/exec/device_code.h"

namespace relay::exec {

Status save(const Built& built, const BuildOptions& options, std::vector<runtime::Note> notes,
            const std::string& path) {
  if (!options.all_on && codegen::device_kind(options.target).empty() && has_source_steps(*built.program))
    return Diagnostic{
        DiagnosticKind::not_supported,
        "an artifact has the code of one kind of device, and the program runs on the CPU and on other devices",
        {},
        {},
        {},
        "compile the whole program for the device, as with --target opencl, or compile it where it runs"};
  const runtime::Program* functions = native_functions(built, options);
  RELAY_ASSIGN(std::string code, target_backend(options)->emit(built.kernels, functions, codegen::CodeForm::Artifact));
  runtime::Artifact artifact;
  artifact.producer = "relay";
  artifact.target = artifact_target(options.target);
  artifact.executor = built.program->is_graph() ? runtime::Executor::Graph
                      : functions               ? runtime::Executor::Aot
                                                : runtime::Executor::Vm;
  artifact.program = built.program;
  artifact.notes = std::move(notes);
  artifact.code = code;
  return runtime::save_artifact(artifact, path);
}

}  // namespace relay::exec
