// From loops to machine code in memory: the passes before code generation, the LLVM module, its target machine and the
// few passes that LLVM's code generator needs.
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>

#include "relay/base/interrupt.h"
#include "relay/codegen/llvm/llvm_kernel.h"
#include "relay/codegen/registers.h"

namespace relay::codegen {

static const llvm::Target* back_end(const TargetDesc& target, std::string& error) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
  });
  return llvm::TargetRegistry::lookupTarget(llvm::Triple(target.triple), error);
}

// True if the back end is linked in; llc compiles for the others.
static bool is_linked(const TargetDesc& target) {
  std::string ignored;
  return back_end(target, ignored) != nullptr;
}

Result<std::unique_ptr<llvm::TargetMachine>> target_machine(const TargetDesc& target, bool jit) {
  std::string error, features;
  const llvm::Target* found = back_end(target, error);
  if (!found)
    return Diagnostic{.kind = DiagnosticKind::unknown_target,
                      .message = format("for {}, only object files can be generated", target.name),
                      .help = "--emit obj writes its kernels for another linker, --emit c as C"};
  for (const std::string& f : target.features) features += (features.empty() ? "" : ",") + f;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::unique_ptr<llvm::TargetMachine> machine(
      found->createTargetMachine(llvm::Triple(target.triple), target.cpu, features, options, llvm::Reloc::PIC_,
                                 std::nullopt, llvm::CodeGenOptLevel::Default, jit));
  return machine;
}

Result<std::unique_ptr<llvm::Module>> build_module(std::span<const loop::Kernel> kernels,
                                                   const runtime::Program* functions, const TargetDesc& target,
                                                   llvm::LLVMContext& context, const llvm::TargetMachine* machine) {
  const llvm::Triple triple(target.triple);
  if (functions && (triple.isRISCV() || !machine))  // LLVM has no guaranteed tail calls for it
    return Diagnostic{DiagnosticKind::not_supported,
                      format("the functions of a program cannot be machine code for {}", target.name),
                      {},
                      {},
                      {},
                      "compile without --aot: the virtual machine runs them"};
  std::unique_ptr<llvm::Module> module = std::make_unique<llvm::Module>("relay", context);
  if (machine) module->setDataLayout(machine->createDataLayout());
  module->setTargetTriple(triple);
  module->setPICLevel(llvm::PICLevel::BigPIC);
  Diagnostics errors;
  for (const loop::Kernel& k : kernels) {
    Status status = emit_kernel(prepare(k, target), target, *module);
    if (!status) errors.insert(errors.end(), status.errors().begin(), status.errors().end());
  }
  if (!errors.empty()) return errors;
  if (functions) emit_functions(*functions, target, *module);
  std::string message;
  llvm::raw_string_ostream stream(message);
  RELAY_CHECK(!llvm::verifyModule(*module, &stream), "the code of {} is malformed: {}",
              kernels.empty() ? "functions" : "kernel " + kernels[0].name, message);
  return module;
}

Result<std::string> emit_code(llvm::Module& module, llvm::TargetMachine& machine, bool assembly) {
  llvm::SmallString<0> code;
  llvm::raw_svector_ostream stream(code);
  llvm::legacy::PassManager passes;
  llvm::CodeGenFileType type = assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  RELAY_CHECK(!machine.addPassesToEmitFile(passes, stream, nullptr, type), "the target cannot emit this kind of file");
  passes.run(module);
  return std::string(code.data(), code.size());
}

Result<std::string> compile_object(std::span<const loop::Kernel> kernels, const runtime::Program* functions,
                                   const TargetDesc& target, bool jit) {
  RELAY_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, target_machine(target, jit));
  llvm::LLVMContext context;
  RELAY_ASSIGN(std::unique_ptr<llvm::Module> module, build_module(kernels, functions, target, context, machine.get()));
  return emit_code(*module, *machine, false);
}

Result<std::string> object_file(std::span<const loop::Kernel> kernels, const TargetDesc& target) {
  if (is_linked(target)) return compile_object(kernels, nullptr, target, false);
  llvm::LLVMContext context;
  RELAY_ASSIGN(std::unique_ptr<llvm::Module> module, build_module(kernels, nullptr, target, context, nullptr));
  return foreign_code(*module, target, false);
}

Result<std::vector<std::string>> compile_objects(std::span<const loop::Kernel> kernels,
                                                 const runtime::Program* functions, const TargetDesc& target,
                                                 int threads, bool jit) {
  // The number of threads must not affect the result.
  size_t batch = std::clamp<size_t>(kernels.size() / 8, 1, 16), kernel_batches = (kernels.size() + batch - 1) / batch,
         batches = std::max<size_t>(kernel_batches + (functions != nullptr), 1);
  std::vector<std::string> objects(batches);
  std::vector<Diagnostics> errors(batches);
  std::vector<std::exception_ptr> failures(batches);
  std::atomic<size_t> next = 0;
  auto work = [&, flag = interrupt_flag] {
    InterruptScope scope(flag);
    for (size_t i; (i = next++) < batches;) {
      try {
        check_interrupt();
        bool last = i == kernel_batches;  // the functions
        size_t first = last ? kernels.size() : i * batch;
        Result<std::string> object = compile_object(kernels.subspan(first, std::min(batch, kernels.size() - first)),
                                                    last ? functions : nullptr, target, jit);
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
  for (size_t i = 1; i < std::min<size_t>(static_cast<size_t>(std::max(threads, 1)), batches); ++i) try {
      helpers.emplace_back(work);
    } catch (const std::system_error&) {
      break;  // no thread can be created: the others take over its share
    }
  work();
  for (std::thread& t : helpers) t.join();
  Diagnostics all;
  for (size_t i = 0; i < batches; ++i) {
    if (failures[i]) std::rethrow_exception(failures[i]);
    all.insert(all.end(), errors[i].begin(), errors[i].end());
  }
  if (!all.empty()) return all;
  return objects;
}

static Result<std::string> text_of(std::span<const loop::Kernel> kernels, const runtime::Program* functions,
                                   const TargetDesc& target, bool assembly) {
  std::unique_ptr<llvm::TargetMachine> machine;
  if (is_linked(target)) {
    RELAY_ASSIGN(machine, target_machine(target, false));
  }
  llvm::LLVMContext context;
  RELAY_ASSIGN(std::unique_ptr<llvm::Module> module, build_module(kernels, functions, target, context, machine.get()));
  if (assembly) return machine ? emit_code(*module, *machine, true) : foreign_code(*module, target, true);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, nullptr);
  return text;
}

Result<std::string> llvm_text(const loop::Kernel& kernel, const TargetDesc& target) {
  return text_of({&kernel, 1}, nullptr, target, false);
}
Result<std::string> assembly_text(const loop::Kernel& kernel, const TargetDesc& target) {
  return text_of({&kernel, 1}, nullptr, target, true);
}
Result<std::string> llvm_text(const runtime::Program& functions, const TargetDesc& target) {
  return text_of({}, &functions, target, false);
}
Result<std::string> assembly_text(const runtime::Program& functions, const TargetDesc& target) {
  return text_of({}, &functions, target, true);
}

}  // namespace relay::codegen
