#include "relay/runtime/executable.h"
#include "relay/runtime/vm.h"

namespace relay::runtime {

// Apart from executable.cpp: a program whose functions are machine code does without the VM.
Result<std::shared_ptr<Executable>> Executable::create(std::shared_ptr<const Program> program,
                                                       std::shared_ptr<const KernelLibrary> library,
                                                       ExecutableOptions options) {
  return create(std::move(program), std::move(library), options,
                [](RunContext& context, const ExecutableOptions& how) -> std::unique_ptr<FunctionExecutor> {
                  return std::make_unique<Vm>(context, how.call_depth);
                });
}

}  // namespace relay::runtime
