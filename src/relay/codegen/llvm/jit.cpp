// Kernels linked into this process: one linker session places all object files.
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h>
#include <llvm/Support/MemoryBuffer.h>

#include "relay/codegen/llvm/llvm_kernel.h"

namespace relay::codegen {
namespace {

namespace orc = llvm::orc;

template <class T>
T must(llvm::Expected<T> value, const char* what) {
  if (value) return std::move(*value);
  check_failed(__FILE__, __LINE__, what, llvm::toString(value.takeError()));
}
void must(llvm::Error error, const char* what) {
  if (error) check_failed(__FILE__, __LINE__, what, llvm::toString(std::move(error)));
}

class Linked : public KernelLibrary {
 public:
  Linked(std::span<const std::string_view> objects, const std::vector<std::string>& names)
      : session_(must(orc::SelfExecutorProcessControl::Create(), "start the linker")),
        linker_(session_, must(llvm::jitlink::InProcessMemoryManager::Create(), "memory for code")),
        library_(session_.createBareJITDylib("kernels")) {
    library_.addGenerator(
        must(orc::DynamicLibrarySearchGenerator::GetForCurrentProcess('\0'), "symbols of the process"));
    for (std::string_view object : objects)
      must(linker_.add(library_, llvm::MemoryBuffer::getMemBuffer(object, "kernel", false)), "add an object file");
    orc::SymbolLookupSet wanted;
    for (const std::string& name : names) wanted.add(session_.intern(name));
    orc::SymbolMap found = must(
        session_.lookup({{&library_, orc::JITDylibLookupFlags::MatchAllSymbols}}, std::move(wanted)), "link kernels");
    for (const auto& [symbol, definition] : found) {
      if (*symbol == RELAY_FUNCTIONS)
        functions_ = definition.getAddress().toPtr<const relay_functions*>();
      else
        kernels_[(*symbol).str()] = definition.getAddress().toPtr<KernelFn>();
    }
  }
  ~Linked() override { llvm::cantFail(session_.endSession()); }

  KernelFn find(const std::string& name) const override {
    std::unordered_map<std::string, KernelFn>::const_iterator it = kernels_.find(name);
    return it == kernels_.end() ? nullptr : it->second;
  }
  const relay_functions* functions() const override { return functions_; }

 private:
  orc::ExecutionSession session_;
  orc::ObjectLinkingLayer linker_;
  orc::JITDylib& library_;
  std::unordered_map<std::string, KernelFn> kernels_;
  const relay_functions* functions_ = nullptr;
};

}  // namespace

std::shared_ptr<KernelLibrary> link_here(std::span<const std::string_view> objects,
                                         const std::vector<std::string>& names) {
  return std::make_shared<Linked>(objects, names);
}

}  // namespace relay::codegen
