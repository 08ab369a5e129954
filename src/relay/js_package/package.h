// A whole network as a package for browsers and Node: a WebAssembly module or the kernels as WGSL, JavaScript around it
// with TypeScript declarations, a demo page and a self-test. It needs no other package.
//
//   Package package = write(program, kernels, object, recording, options, target);
//   package.files["model.wasm"], package.sizes.workspace
//
// The steps are those that the runtime would take (runtime/program/program.h), with every size and every place in
// memory known, as in a C project (c_project/project.h). The module has its memory for itself: inputs, outputs, state,
// weights and a workspace.
#pragma once

#include <map>
#include <span>

#include "relay/c_project/project.h"
#include "relay/codegen/c/c_source.h"
#include "relay/machine/target_desc.h"

namespace relay::js_package {

struct Options {
  std::string name = "model";  // of the package
  std::string model{};         // for the texts: the model's file
  std::string version{};       // of Relay
  bool weights_file = false;   // weights in model.weights, instead of in the module
  int64_t memory_limit = 0;    // bytes of the workspace; 0: unlimited
};

struct Package {
  std::map<std::string, std::string> files;  // contents by name
  c_project::Sizes sizes;
};

// True for a name that `Options::name` may have: npm's rules for a package without a scope.
bool is_package_name(const std::string& name);

// `graph`: without c_project::refusals(). Constants that its preparations compute are computed when the package is
// loaded, so that its files are about as large as the model. `kernels`: as lowering made them, by
// Program::kernels. `object`: their object file for `target`. A donated input with a result is state. If the workspace
// would exceed its limit, the steps get the order that needs the least memory; out_of_memory if that is too much.
Result<Package> write(const runtime::Program& graph, std::span<const loop::Kernel> kernels, std::string_view object,
                      const c_project::Recording& recording, const Options& options, const TargetDesc& target);

// The same for WebGPU: the kernels are WGSL, and the weights are always in a file of their own. not_supported for
// graphs with state, checks of indices, steps that depend on values, and repeated steps.
Result<Package> write(const runtime::Program& graph, std::span<const loop::Kernel> kernels,
                      const codegen::WgslSource& source, const c_project::Recording& recording, const Options& options,
                      const TargetDesc& target);

}  // namespace relay::js_package
