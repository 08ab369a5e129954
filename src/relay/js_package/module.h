// The places and the steps of a network in a WebAssembly module. Internal to js_package.
#pragma once

#include "relay/c_project/memory.h"
#include "relay/codegen/llvm/wasm_module.h"

namespace relay::js_package {

struct Module {
  codegen::WasmProgram program;
  std::vector<std::string> failures;  // by the result of a failed run, less 1: messages
  std::string weights;                // the contents of the weights block, if they are not in the module
  int64_t weight_bytes = 0;           // of constants that a run reads
};

// `identity`: kept in the module, so that the other files can tell whether they belong to it. The program refers to the
// graph's constants and to `identity`.
Module module_of(const runtime::Program& graph, const c_project::Memory& memory, const std::string& identity,
                 bool weights_outside);

}  // namespace relay::js_package
