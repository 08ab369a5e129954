// From prepared kernels to machine code in memory: the LLVM module, its target machine and the few passes that LLVM's
// code generator needs.
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <mutex>

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

bool is_linked(const TargetDesc& target) {
  std::string ignored;
  return back_end(target, ignored) != nullptr;
}

// Fast code: without optimisation, and instructions are selected one by one where possible.
Result<std::unique_ptr<llvm::TargetMachine>> target_machine(const TargetDesc& target, Tier tier) {
  std::string error, features;
  const llvm::Target* found = back_end(target, error);
  if (!found)
    return Diagnostic{.kind = DiagnosticKind::unknown_target,
                      .message = format("for {}, only object files can be generated", target.name),
                      .help = "--emit obj writes its kernels for another linker, --emit c as C"};
  for (const std::string& f : target.features) features += (features.empty() ? "" : ",") + f;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  // A WebAssembly module has its memory for itself: addresses are constants.
  const llvm::Triple triple(target.triple);
  const llvm::Reloc::Model model = triple.isWasm() ? llvm::Reloc::Static : llvm::Reloc::PIC_;
  std::unique_ptr<llvm::TargetMachine> machine(
      found->createTargetMachine(triple, target.cpu, features, options, model, std::nullopt,
                                 tier == Tier::Fast ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default));
  machine->setO0WantsFastISel(tier == Tier::Fast);
  return machine;
}

Result<std::unique_ptr<llvm::Module>> build_module(std::span<const loop::Kernel> prepared,
                                                   const runtime::Program* functions, const TargetDesc& target,
                                                   llvm::LLVMContext& context, const llvm::TargetMachine* machine) {
  const llvm::Triple triple(target.triple);
  if (functions && (triple.isRISCV() || triple.isWasm() || !machine))  // no guaranteed tail calls
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
  for (const loop::Kernel& k : prepared) {
    Status status = emit_kernel(k, target, *module);
    if (!status) errors.insert(errors.end(), status.errors().begin(), status.errors().end());
  }
  if (!errors.empty()) return errors;
  if (functions) emit_functions(*functions, target, *module);
  verify_module(*module, prepared.empty() ? "functions" : "kernel " + prepared[0].name);
  return module;
}

void verify_module(const llvm::Module& module, const std::string& what) {
  std::string message;
  llvm::raw_string_ostream stream(message);
  RELAY_CHECK(!llvm::verifyModule(module, &stream), "the code of {} is malformed: {}", what, message);
}

// Adds the passes from a module to code. On x86, loop strength reduction is left out: addresses already step through
// innermost loops (llvm_address.cpp), and the pass takes a third of the time. Only a global option leaves it out.
static void add_passes(llvm::TargetMachine& machine, llvm::legacy::PassManager& passes, llvm::raw_pwrite_stream& stream,
                       llvm::CodeGenFileType type) {
  static std::mutex one_at_a_time;
  std::lock_guard<std::mutex> lock(one_at_a_time);
  static llvm::cl::opt<bool>* const without =
      static_cast<llvm::cl::opt<bool>*>(llvm::cl::getRegisteredOptions().lookup("disable-lsr"));
  RELAY_CHECK(without, "LLVM has no option to leave out a pass");
  without->setValue(machine.getTargetTriple().isX86());
  const bool refused = machine.addPassesToEmitFile(passes, stream, nullptr, type);
  without->setValue(false);
  RELAY_CHECK(!refused, "the target cannot emit this kind of file");
}

static std::string code_of(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type) {
  llvm::SmallString<0> code;
  llvm::raw_svector_ostream stream(code);
  llvm::legacy::PassManager passes;
  add_passes(machine, passes, stream, type);
  passes.run(module);
  return std::string(code.data(), code.size());
}

std::string assembly_of(llvm::Module& module, llvm::TargetMachine& machine) {
  return code_of(module, machine, llvm::CodeGenFileType::AssemblyFile);
}

std::string object_of(llvm::Module& module, llvm::TargetMachine& machine) {
  return code_of(module, machine, llvm::CodeGenFileType::ObjectFile);
}

namespace {

class Writer : public ObjectWriter {
 public:
  Writer(const TargetDesc& target, std::unique_ptr<llvm::TargetMachine> machine)
      : target_(target), machine_(std::move(machine)) {
    add_passes(*machine_, passes_, stream_, llvm::CodeGenFileType::ObjectFile);
  }
  Result<std::string> write(std::span<const loop::Kernel> prepared, const runtime::Program* functions) override {
    RELAY_ASSIGN(const std::unique_ptr<llvm::Module> module,
                 build_module(prepared, functions, target_, context_, machine_.get()));
    code_.clear();
    passes_.run(*module);
    return std::string(code_.data(), code_.size());
  }

 private:
  const TargetDesc target_;
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  llvm::SmallString<0> code_;
  llvm::raw_svector_ostream stream_{code_};
  llvm::legacy::PassManager passes_;
};

}  // namespace

Result<std::unique_ptr<ObjectWriter>> object_writer(const TargetDesc& target, Tier tier) {
  RELAY_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, target_machine(target, tier));
  return std::unique_ptr<ObjectWriter>(std::make_unique<Writer>(target, std::move(machine)));
}

static std::vector<loop::Kernel> prepare_all(std::span<const loop::Kernel> kernels, const TargetDesc& target) {
  std::vector<loop::Kernel> out;
  for (const loop::Kernel& k : kernels) out.push_back(prepare(k, target));
  return out;
}

Result<std::string> foreign_object(std::span<const loop::Kernel> kernels, const TargetDesc& target) {
  llvm::LLVMContext context;
  RELAY_ASSIGN(std::unique_ptr<llvm::Module> module,
               build_module(prepare_all(kernels, target), nullptr, target, context, nullptr));
  return foreign_code(*module, target, false);
}

static Result<std::string> text_of(std::span<const loop::Kernel> kernels, const runtime::Program* functions,
                                   const TargetDesc& target, bool assembly) {
  std::unique_ptr<llvm::TargetMachine> machine;
  if (is_linked(target)) {
    RELAY_ASSIGN(machine, target_machine(target));
  }
  llvm::LLVMContext context;
  RELAY_ASSIGN(std::unique_ptr<llvm::Module> module,
               build_module(prepare_all(kernels, target), functions, target, context, machine.get()));
  if (assembly) {
    return machine ? assembly_of(*module, *machine) : foreign_code(*module, target, true);
  }
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
