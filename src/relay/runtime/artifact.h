// Artifact: a compiled model as one file, loaded by mapping it.
//
//   header      64 bytes: magic, version, sizes, where the other parts are, a checksum of the description
//   description target, executor, program, the table of constants, a checksum of the code
//   code        the kernels, and the functions where they are machine code: an ELF shared object without undefined
//               symbols
//   constants   each aligned to 64 bytes, used where they are mapped; those that a kernel makes larger of others
//               when the program is linked (program.h: Preparation) are not stored
//
// Description, code and each constant have a checksum (XXH3), and reading compares all of them at once: a damaged file
// is found before it runs. The description also carries notes that the runtime does not read: what the compiler did,
// and what its tools want to know of the model.
//
// All numbers are little-endian. The same contents give the same bytes. Reading trusts nothing: every count, offset,
// alignment, rank, string, expression and index is checked against the file and the limits before it is used, so a
// truncated or hostile description gives a diagnostic. The code is native code: load only what you would run.
#pragma once

#include "relay/runtime/executable.h"
#include "relay/runtime/load_code.h"

namespace relay::runtime {

// The machine an artifact is for.
struct ArtifactTarget {
  std::string name;                   // "zen4"
  std::string triple, cpu;            // as LLVM writes them
  std::vector<std::string> features;  // that the code needs: "avx2", "avx512f"
};

struct Note {
  std::string name, text;
};

struct Artifact {
  std::string producer;  // "relay 0.1.0"
  ArtifactTarget target;
  Executor executor = Executor::Graph;  // what it was compiled for
  std::shared_ptr<const Program> program;
  std::vector<Note> notes;
  std::string_view code;
  std::shared_ptr<const void> storage;  // what `code` and the constants lie in
};

std::string write_artifact(const Artifact& artifact);
Status save_artifact(const Artifact& artifact, const std::string& path);

// `bytes` is aligned to 64 and kept alive by `storage`. `name` is for messages.
Result<Artifact> read_artifact(std::string_view bytes, std::shared_ptr<const void> storage, const std::string& name);
// Maps the file.
Result<Artifact> open_artifact(const std::string& path);
// Makes the header's checksum right again after `bytes` was changed: for tests that want to reach behind it.
void reseal_artifact(std::string& bytes);

// incompatible_artifact if this machine cannot run code for `target`; names what it lacks.
Status check_machine(const ArtifactTarget& target);
// All of the above: a file to something that runs, with the artifact's executor unless the options name another.
Result<std::shared_ptr<Executable>> load_executable(const std::string& path, ExecutableOptions options = {});
Result<std::shared_ptr<Executable>> load_executable(const Artifact& artifact, ExecutableOptions options = {});

}  // namespace relay::runtime
