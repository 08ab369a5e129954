// The library relay_runtime_aot (cmake/layers.cmake) contains this instead of with_vm.cpp and vm.cpp.
#include "relay/runtime/executable.h"

namespace relay::runtime {

Result<MakeFunctionExecutor> vm_maker() {
  return Diagnostic{DiagnosticKind::incompatible_artifact,
                    "the program's functions are code for the virtual machine, which this runtime does not contain",
                    {},
                    {},
                    {},
                    "compile it with `relay compile --aot`, or link the complete runtime"};
}

}  // namespace relay::runtime
