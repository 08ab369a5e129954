// Kernels as files: a relocatable object, or a self-contained shared library.
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>

#include <fstream>
#include <mutex>
#include <sstream>

#include "relay/codegen/llvm/llvm_kernel.h"
#include "relay/codegen/llvm/temporary_folder.h"

LLD_HAS_DRIVER(elf)

namespace relay::codegen {

Result<std::string> shared_library(std::span<const loop::Kernel> kernels, const TargetDesc& target,
                                   const runtime::Program* functions, int threads) {
  RELAY_ASSIGN(std::vector<std::string> objects, compile_objects(kernels, functions, target, threads, false));
  TemporaryFolder folder;
  if (!folder.exists()) return cannot_write("a temporary folder");
  std::string output = folder.file("kernels.so");
  std::vector<std::string> inputs;
  for (const std::string& object : objects) {
    inputs.push_back(folder.file(format("{}.o", inputs.size())));
    if (!(std::ofstream(inputs.back(), std::ios::binary) << object).flush()) return cannot_write(inputs.back());
  }
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  static std::mutex one_at_a_time;  // the linker has global state
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
