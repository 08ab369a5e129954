// Kernels as files: a relocatable object, or a self-contained shared library.
#include <lld/Common/Driver.h>
#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Support/raw_ostream.h>

#include <fstream>
#include <mutex>
#include <sstream>

#include "relay/codegen/llvm/llvm_kernel.h"
#include "relay/codegen/llvm/temporary_folder.h"

LLD_HAS_DRIVER(elf)

namespace relay::codegen {

Result<std::string> link_file(std::span<const std::string_view> objects, CodeForm form) {
  if (form == CodeForm::Object && objects.size() == 1) return std::string(objects[0]);
  TemporaryFolder folder;
  if (!folder.exists()) return cannot_write("a temporary folder");
  const std::string input = folder.file("kernels.a"), output = folder.file("kernels");
  std::vector<llvm::NewArchiveMember> members;  // one file: creating a file takes as long as generating its code
  for (std::string_view object : objects) members.emplace_back(llvm::MemoryBufferRef(object, "kernel.o"));
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> archive =
      llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NoSymtab, llvm::object::Archive::K_GNU, true, false);
  RELAY_CHECK(archive, "an archive of kernels failed: {}", llvm::toString(archive.takeError()));
  const llvm::StringRef content = (*archive)->getBuffer();  // LLVM ends the process if it cannot write a file
  if (!(std::ofstream(input, std::ios::binary) << std::string_view(content.data(), content.size())).flush())
    return cannot_write(input);
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  static std::mutex one_at_a_time;  // the linker has global state
  {
    std::lock_guard<std::mutex> lock(one_at_a_time);
    std::vector<const char*> arguments = {"ld.lld", "--threads=1", "--strip-debug", "-o", output.c_str()};
    if (form == CodeForm::Object)
      arguments.push_back("-r");
    else
      arguments.insert(arguments.end(), {"-shared", "--no-undefined", "--build-id=none", "--hash-style=gnu"});
    arguments.insert(arguments.end(), {"--whole-archive", input.c_str()});
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
