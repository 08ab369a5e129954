// Compiled programs as JavaScript packages (js_package/package.h).
#pragma once

#include "relay/driver/compile.h"
#include "relay/js_package/package.h"

namespace relay::driver {

// The targets that packages of WebAssembly and of WGSL are compiled for unless another one is given.
constexpr const char *js_package_target = "wasm32-simd128", *gpu_package_target = "webgpu";

// not_supported for the properties of the program that no package can have. `compiled`: not run yet.
Status check_js_package(const Compiled& compiled);

struct JsPackage {
  js_package::Package package;
  c_project::Recording recording;
};
// A package of WebAssembly or of WGSL, as the target says. The recorded run of the latter is one of this machine's
// kernels.
// `options`: the version is filled in here. `inputs`: of the recorded run. State is what the program was compiled to
// donate for a result.
Result<JsPackage> js_package(const Compiled& compiled, const std::vector<runtime::Value>& inputs,
                             js_package::Options options);

}  // namespace relay::driver
