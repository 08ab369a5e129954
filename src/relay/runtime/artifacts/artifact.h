// Artifact: a compiled model as one file, loaded by mapping it.
//
//   header      64 bytes: magic, version, sizes, offsets of the other parts, a checksum of the description
//   description target, executor, program, the table of constants, a checksum of the code
//   code        the kernels, and functions compiled to machine code: an ELF shared object without undefined
//               symbols
//   constants   each aligned to 64 bytes, used in the mapping; those that a kernel computes from smaller ones
//               when the program is linked (program.h: Preparation) are not stored
//
// Description, code and each constant have a checksum (XXH3), and reading compares all of them at once: a damaged file
// is detected before it runs. The description also carries notes that the runtime does not read: the compiler's report,
// and facts about the model for its tools.
//
// All numbers are little-endian. Equal contents produce equal bytes. Reading trusts nothing: every count, offset,
// alignment, rank, string, expression and index is checked against the file and the limits before it is used, so a
// truncated or hostile description produces a diagnostic. The code is native code: load only artifacts that you trust.
#pragma once

#include "relay/runtime/artifacts/load_code.h"
#include "relay/runtime/executable.h"

namespace relay::runtime {

// The machine that an artifact is compiled for.
struct ArtifactTarget {
  std::string name;                   // "zen4"
  std::string triple, cpu;            // as LLVM writes them
  std::vector<std::string> features;  // required by the code: "avx2", "avx512f"
};

struct Note {
  std::string name, text;
};

struct Artifact {
  std::string producer;  // "relay 0.1.0"
  ArtifactTarget target;
  Executor executor = Executor::Graph;  // the executor it was compiled for
  std::shared_ptr<const Program> program;
  std::vector<Note> notes;
  std::string_view code;
  std::shared_ptr<const void> storage;  // the memory of `code` and the constants
};

std::string write_artifact(const Artifact& artifact);
Status save_artifact(const Artifact& artifact, const std::string& path);

// `bytes` is aligned to 64 and kept alive by `storage`. `name` is for messages.
Result<Artifact> read_artifact(std::string_view bytes, std::shared_ptr<const void> storage, const std::string& name);
// Maps the file.
Result<Artifact> open_artifact(const std::string& path);
// Recomputes the header's checksum after `bytes` was changed, for tests of later checks.
void reseal_artifact(std::string& bytes);

// incompatible_artifact if this machine cannot run code for `target`; names what it lacks.
Status check_machine(const ArtifactTarget& target);
// Loads a file and makes it executable, with the artifact's executor unless the options name another.
Result<std::shared_ptr<Executable>> load_executable(const std::string& path, ExecutableOptions options = {});
Result<std::shared_ptr<Executable>> load_executable(const Artifact& artifact, ExecutableOptions options = {});

}  // namespace relay::runtime
