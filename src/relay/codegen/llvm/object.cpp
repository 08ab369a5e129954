// Kernels as files: a relocatable object, or a shared library that needs no other.
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>

#include "relay/codegen/llvm/llvm_kernel.h"

LLD_HAS_DRIVER(elf)

namespace relay::codegen {
namespace {

// A folder of its own, removed with what is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "relay-XXXXXX").string()) {
    if (!mkdtemp(path_.data())) path_.clear();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  bool exists() const { return !path_.empty(); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

Diagnostic cannot_write(const std::string& what) {
  return {.kind = DiagnosticKind::file_not_found,
          .message = format("cannot write {}", what),
          .help = "is the temporary folder full? TMPDIR names another"};
}

}  // namespace

Result<std::string> object_file(std::span<const loop::Kernel> kernels, const TargetDesc& target) {
  return compile_object(kernels, nullptr, target, false);
}

Result<std::string> shared_library(std::span<const loop::Kernel> kernels, const TargetDesc& target,
                                   const runtime::Program* functions, int threads) {
  RELAY_ASSIGN(std::vector<std::string> objects, compile_objects(kernels, functions, target, threads, false));
  TemporaryFolder folder;
  std::string output = folder.file("kernels.so");
  std::vector<std::string> inputs;
  for (const std::string& object : objects) {
    inputs.push_back(folder.file(format("{}.o", inputs.size())));
    if (!folder.exists() || !(std::ofstream(inputs.back(), std::ios::binary) << object).flush())
      return cannot_write(inputs.back());
  }
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  static std::mutex one_at_a_time;  // the linker keeps state of the process
  {
    std::lock_guard<std::mutex> lock(one_at_a_time);
    std::vector<const char*> arguments = {"ld.lld",           "-shared",       "--no-undefined", "--build-id=none",
                                          "--hash-style=gnu", "--strip-debug", "--threads=1",    "-o",
                                          output.c_str()};
    for (const std::string& input : inputs) arguments.push_back(input.c_str());
    lld::DriverDef drivers[] = {{lld::Gnu, &lld::elf::link}};
    lld::Result result = lld::lldMain(arguments, stream, stream, drivers);
    RELAY_CHECK(result.retCode == 0, "linking kernels failed: {}", messages);
  }
  std::ifstream linked(output, std::ios::binary);
  std::ostringstream bytes;
  if (!(bytes << linked.rdbuf())) return cannot_write(output);
  return bytes.str();
}

}  // namespace relay::codegen
