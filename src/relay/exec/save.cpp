// Artifacts of built programs.
#include "relay/exec/build.h"
#include "relay/runtime/artifact.h"

namespace relay::exec {

Status save(const Built& built, const BuildOptions& options, const std::string& path) {
  RELAY_ASSIGN(std::string code, codegen::shared_library(built.kernels, options.target));
  runtime::Artifact artifact;
  artifact.producer = "relay";
  artifact.target = {options.target.name, options.target.triple, options.target.cpu, options.target.features};
  artifact.program = built.program;
  artifact.code = code;
  return runtime::save_artifact(artifact, path);
}

}  // namespace relay::exec
