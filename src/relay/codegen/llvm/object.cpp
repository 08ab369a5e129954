// Kernels as files: a relocatable object, an archive of objects, or a self-contained shared library.
#include <lld/Common/Driver.h>
#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Support/raw_ostream.h>

#include <fstream>
#include <mutex>
#include <sstream>

#include "relay/codegen/llvm/link.h"
#include "relay/codegen/llvm/llvm_kernel.h"
#include "relay/codegen/llvm/temporary_folder.h"

LLD_HAS_DRIVER(elf)
LLD_HAS_DRIVER(wasm)

namespace relay::codegen {

// The archive of object files, with an index of their symbols. Members have no dates, owners or paths, so that the same
// objects give the same bytes.
static Result<std::string> archive_of(std::span<const std::string_view> objects) {
  std::vector<std::string> names;
  for (size_t i = 0; i < objects.size(); ++i) names.push_back(format("kernel_{}.o", i));
  std::vector<llvm::NewArchiveMember> members;
  for (size_t i = 0; i < objects.size(); ++i) members.emplace_back(llvm::MemoryBufferRef(objects[i], names[i]));
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> archive = llvm::writeArchiveToBuffer(
      members, llvm::SymtabWritingMode::NormalSymtab, llvm::object::Archive::K_GNU, true, false);
  RELAY_CHECK(archive, "an archive of kernels failed: {}", llvm::toString(archive.takeError()));
  return (*archive)->getBuffer().str();
}

Result<std::string> link(Linker linker, std::span<const std::string_view> objects,
                         const std::vector<std::string>& arguments) {
  TemporaryFolder folder;
  if (!folder.exists()) return cannot_write("a temporary folder");
  const std::string input = folder.file("kernels.a"), output = folder.file("kernels");
  std::vector<llvm::NewArchiveMember> members;  // one file: creating a file takes as long as generating its code
  for (std::string_view object : objects) members.emplace_back(llvm::MemoryBufferRef(object, "kernel.o"));
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> archive =
      llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NoSymtab, llvm::object::Archive::K_GNU, true, false);
  RELAY_CHECK(archive, "an archive of kernels failed: {}", llvm::toString(archive.takeError()));
  if (!std::ofstream(input, std::ios::binary)
           .write((*archive)->getBufferStart(), static_cast<std::streamsize>((*archive)->getBufferSize()))
           .flush())
    return cannot_write(input);
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  static std::mutex one_at_a_time;  // the linkers have global state
  {
    std::lock_guard<std::mutex> lock(one_at_a_time);
    const bool is_wasm = linker == Linker::Wasm;
    std::vector<const char*> all = {is_wasm ? "wasm-ld" : "ld.lld", "--threads=1", "-o", output.c_str()};
    for (const std::string& a : arguments) all.push_back(a.c_str());
    all.insert(all.end(), {"--whole-archive", input.c_str()});
    lld::DriverDef drivers[] = {{lld::Gnu, &lld::elf::link}, {lld::Wasm, &lld::wasm::link}};
    lld::Result result = lld::lldMain(all, stream, stream, drivers);
    RELAY_CHECK(result.retCode == 0, "linking kernels failed: {}", messages);
  }
  std::ifstream linked(output, std::ios::binary);
  std::ostringstream bytes;
  if (!(bytes << linked.rdbuf())) return cannot_write(output);
  return bytes.str();
}

Result<std::string> link_file(std::span<const std::string_view> objects, CodeForm form) {
  if (form == CodeForm::Object && objects.size() == 1) return std::string(objects[0]);
  if (form == CodeForm::Archive) return archive_of(objects);
  const bool is_wasm = objects[0].starts_with(std::string_view("\0asm", 4));
  if (is_wasm && form != CodeForm::Object)
    return Diagnostic{DiagnosticKind::not_supported,
                      "WebAssembly has no shared libraries",
                      {},
                      {},
                      {},
                      "--emit wasm writes a module with the whole program; --emit obj an object for wasm-ld"};
  std::vector<std::string> arguments = {"--strip-debug"};
  if (form == CodeForm::Object)
    arguments.push_back("-r");
  else
    arguments.insert(arguments.end(), {"-shared", "--no-undefined", "--build-id=none", "--hash-style=gnu"});
  return link(is_wasm ? Linker::Wasm : Linker::Elf, objects, arguments);
}

}  // namespace relay::codegen
