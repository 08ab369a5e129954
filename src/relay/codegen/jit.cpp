// Kernels compiled and linked into this process. Threads take batches of kernels and compile each batch into one object
// file (LLVM costs 1.8 ms a file before the first kernel), one the functions; one linker session then places them all.
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "relay/codegen/llvm_kernel.h"

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
  explicit Linked(const std::vector<std::string>& objects, const std::vector<std::string>& names)
      : session_(must(orc::SelfExecutorProcessControl::Create(), "start the linker")),
        linker_(session_, must(llvm::jitlink::InProcessMemoryManager::Create(), "memory for code")),
        library_(session_.createBareJITDylib("kernels")) {
    library_.addGenerator(
        must(orc::DynamicLibrarySearchGenerator::GetForCurrentProcess('\0'), "symbols of the process"));
    for (const std::string& object : objects)
      must(linker_.add(library_, llvm::MemoryBuffer::getMemBufferCopy(object, "kernel")), "add an object file");
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

Result<std::shared_ptr<KernelLibrary>> jit(std::span<const loop::Kernel> kernels, const TargetDesc& target, int threads,
                                           const runtime::Program* functions) {
  size_t parallel = static_cast<size_t>(std::max(threads, 1));
  size_t batch = std::clamp<size_t>(kernels.size() / (parallel * 4), 1, 16),
         kernel_batches = (kernels.size() + batch - 1) / batch, batches = kernel_batches + (functions != nullptr);
  std::vector<std::string> objects(batches);
  std::vector<Diagnostics> errors(batches);
  std::vector<std::exception_ptr> failures(batches);
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next++) < batches;) {
      try {
        bool last = i == kernel_batches;  // the functions
        size_t first = last ? kernels.size() : i * batch;
        Result<std::string> object = compile_object(kernels.subspan(first, std::min(batch, kernels.size() - first)),
                                                    last ? functions : nullptr, target, true);
        if (object)
          objects[i] = *std::move(object);
        else
          errors[i] = object.errors();
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < std::min(parallel, batches); ++i) helpers.emplace_back(work);
  work();
  for (std::thread& t : helpers) t.join();
  Diagnostics all;
  for (size_t i = 0; i < batches; ++i) {
    if (failures[i]) std::rethrow_exception(failures[i]);
    all.insert(all.end(), errors[i].begin(), errors[i].end());
  }
  if (!all.empty()) return all;
  std::vector<std::string> names;
  for (const loop::Kernel& k : kernels) names.push_back(k.name);
  if (functions) names.push_back(RELAY_FUNCTIONS);
  return std::shared_ptr<KernelLibrary>(std::make_shared<Linked>(objects, names));
}

}  // namespace relay::codegen
