// Kernels for processors whose back ends are not linked in: writes LLVM's language to a file, and llc of the same LLVM
// compiles it. If a back end crashes, it ends that process and not this one.
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Program.h>
#include <llvm/Support/raw_ostream.h>

#include <fstream>
#include <sstream>

#include "relay/codegen/llvm/llvm_kernel.h"
#include "relay/codegen/llvm/temporary_folder.h"

namespace relay::codegen {

static std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

Result<std::string> foreign_code(const llvm::Module& module, const TargetDesc& target, bool assembly) {
  const std::string name = format("llc-{}", LLVM_VERSION_MAJOR);
  const llvm::ErrorOr<std::string> program = llvm::sys::findProgramByName(name);
  if (!program)
    return Diagnostic{.kind = DiagnosticKind::not_supported,
                      .message = format("code for {} is made by {}, which is not there", target.name, name),
                      .help = format("install LLVM {}'s tools (Debian: llvm-{}), or write C: --emit c",
                                     LLVM_VERSION_MAJOR, LLVM_VERSION_MAJOR)};
  const TemporaryFolder folder;
  const std::string input = folder.file("kernels.bc"), output = folder.file("kernels.o"), said = folder.file("said");
  if (!folder.exists()) return cannot_write("a temporary folder");
  llvm::SmallString<0> code;
  llvm::raw_svector_ostream stream(code);
  llvm::WriteBitcodeToFile(module, stream);
  if (!std::ofstream(input, std::ios::binary).write(code.data(), static_cast<std::streamsize>(code.size())).flush())
    return cannot_write(input);
  std::string features;
  for (const std::string& f : target.features) features += (features.empty() ? "" : ",") + f;
  const std::string cpu = "-mcpu=" + target.cpu, attributes = "-mattr=" + features,
                    kind = assembly ? "-filetype=asm" : "-filetype=obj";
  const llvm::StringRef words[] = {*program, kind, cpu, attributes, "-o", output, input};
  const std::optional<llvm::StringRef> streams[] = {"", "", llvm::StringRef(said)};
  constexpr unsigned seconds = 300;
  std::string error;
  const int status = llvm::sys::ExecuteAndWait(*program, words, std::nullopt, streams, seconds, 0, &error);
  if (status == 0) return read_file(output);
  // A failing back end prints a lot; one line has the reason.
  const std::string all = read_file(said);
  std::string why;
  for (std::string_view line : split(all, '\n'))
    if (why.empty() && (line.find("error:") != line.npos || line.find("ERROR:") != line.npos)) why = line;
  return Diagnostic{.kind = DiagnosticKind::not_supported,
                    .message = format("{} generates no code for {}: {}", name, target.name, why.empty() ? error : why),
                    .help = "write the kernels as C for a compiler of that processor: --emit c"};
}

}  // namespace relay::codegen
