#include "relay/runtime/kernel_code.h"

#include "relay/runtime/program/program.h"

namespace relay::runtime {

const char* name(Tier tier) { return tier == Tier::Fast ? "fast" : "full"; }

Result<std::shared_ptr<KernelCode>> KernelCode::create(std::shared_ptr<const Program> program,
                                                       std::vector<bool> on_host,
                                                       std::shared_ptr<const KernelLibrary> library, Tier tier) {
  std::shared_ptr<KernelCode> code(new KernelCode(std::move(program), std::move(on_host)));
  RELAY_RETURN_IF_ERROR(code->exchange(std::move(library), tier));
  return code;
}

Status KernelCode::exchange(std::shared_ptr<const KernelLibrary> library, Tier tier) {
  std::unique_ptr<Table> made = std::make_unique<Table>();
  for (const KernelEntry& kernel : program_->kernels) {
    const bool here = on_host_[made->kernels.size()];
    const KernelFn fn = here && library ? library->find(kernel.name) : nullptr;
    if (here && fn == nullptr)
      return Diagnostic{DiagnosticKind::corrupt_file, format("the code has no kernel `{}`", kernel.name), {}, {}, {},
                        "compile the model again"};
    made->kernels.push_back(fn);
  }
  made->library = std::move(library), made->tier = tier;
  made->before.reset(now());
  now_.store(made.release(), std::memory_order_release);
  return ok();
}

}  // namespace relay::runtime
