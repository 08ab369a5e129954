#include "relay/codegen/llvm/nvptx/ptx.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "relay/codegen/llvm/kernel_emitter.h"
#include "relay/codegen/llvm/llvm_kernel.h"
#include "relay/codegen/scalar_form.h"

namespace relay::codegen {

TargetDesc ptx_target(std::string processor) {
  TargetDesc t;
  t.name = "cuda-" + processor, t.triple = "nvptx64-nvidia-cuda", t.cpu = std::move(processor);
  t.features = {"+ptx80"};  // CUDA 12.0, the oldest that knows sm_90a
  t.vector_bytes = 4, t.vector_registers = 128;
  t.has_fma = true, t.prefetch_weights = false;
  return t;
}

// Register buffers as arrays of the thread: LLVM keeps in registers what is indexed by constants.
static loop::Kernel with_local_tiles(loop::Kernel kernel) {
  std::unordered_map<const scalar::Source*, loop::BufferRef> local;
  auto of = [&](const loop::BufferRef& b) {
    if (b->scope != loop::Scope::Register) return b;
    loop::BufferRef& made = local[b.get()];
    if (!made) made = loop::buffer(b->name, b->dtype, b->shape, loop::Scope::Stack);
    return made;
  };
  // An allocation is seen after its body: all buffers are made first.
  loop::visit(
      kernel.body,
      [&](const loop::Stmt& s) {
        if (s->kind == loop::StmtKind::Alloc) of(s->buffer);
      },
      [](const scalar::Expr&) {});
  kernel.body = loop::redirect(kernel.body, [&](const loop::Access& a) {
    const auto found = local.find(a.source.get());
    return found == local.end() ? a : loop::Access{found->second, a.indices};
  });
  kernel.body = loop::rewrite(
      kernel.body,
      [&](const loop::Stmt& s) {
        return s->kind == loop::StmtKind::Alloc && local.count(s->buffer.get())
                   ? loop::alloc(local[s->buffer.get()], s->body[0])
                   : s;
      },
      [](const scalar::Expr& e) { return e; });
  return kernel;
}

// Functions that kernels call, such as those of far angles, become part of them: a call would need a stack.
static void inline_all(llvm::Module& module) {
  for (llvm::Function& f : module) {
    if (f.isDeclaration() || f.getCallingConv() == llvm::CallingConv::PTX_Kernel) continue;
    f.removeFnAttr(llvm::Attribute::NoInline);
    f.removeFnAttr(llvm::Attribute::OptimizeNone);
    f.addFnAttr(llvm::Attribute::AlwaysInline);
    f.setLinkage(llvm::GlobalValue::InternalLinkage);
  }
}

static void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = false;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

// Calls use(module, machine) with the optimised module of the kernels.
static Status with_module(std::span<const loop::Kernel> kernels, const TargetDesc& target,
                          function_ref<void(llvm::Module&, llvm::TargetMachine&)> use) {
  RELAY_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, target_machine(target));
  llvm::LLVMContext context;
  RELAY_ASSIGN(std::unique_ptr<llvm::Module> module, build_module({}, nullptr, target, context, machine.get()));
  for (const loop::Kernel& one : kernels) {
    DeviceForm form = device_form(one, true);
    form.kernel = with_local_tiles(std::move(form.kernel));
    KernelEmitter(form.kernel, target, {}, {}, *module).run_on_device(form);
  }
  verify_module(*module, kernels.empty() ? "no kernel" : "kernel " + kernels[0].name);
  inline_all(*module);
  optimise(*module, *machine);
  use(*module, *machine);
  return ok();
}

Result<std::string> ptx_text(std::span<const loop::Kernel> kernels, const TargetDesc& target) {
  std::string text;
  RELAY_RETURN_IF_ERROR(with_module(kernels, target, [&](llvm::Module& module, llvm::TargetMachine& machine) {
    text = assembly_of(module, machine);
  }));
  return text;
}

Result<std::string> nvptx_llvm_text(std::span<const loop::Kernel> kernels, const TargetDesc& target) {
  std::string text;
  RELAY_RETURN_IF_ERROR(with_module(kernels, target, [&](llvm::Module& module, llvm::TargetMachine&) {
    llvm::raw_string_ostream stream(text);
    module.print(stream, nullptr);
  }));
  return text;
}

}  // namespace relay::codegen
