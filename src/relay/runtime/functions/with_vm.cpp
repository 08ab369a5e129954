#include "relay/runtime/executable.h"
#include "relay/runtime/functions/vm.h"

namespace relay::runtime {

Result<MakeFunctionExecutor> vm_maker() {
  return MakeFunctionExecutor([](RunContext& context, size_t call_depth) -> std::unique_ptr<FunctionExecutor> {
    return std::make_unique<Vm>(context, call_depth);
  });
}

}  // namespace relay::runtime
