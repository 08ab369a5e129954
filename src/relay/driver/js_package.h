// Compiled programs as JavaScript packages (js_package/package.h).
#pragma once

#include "relay/driver/compile.h"
#include "relay/js_package/package.h"

namespace relay::driver {

// The target that a package is compiled for unless another one is given.
constexpr const char* js_package_target = "wasm32-simd128";

// not_supported for the properties of the program that no package can have. `compiled`: not run yet.
Status check_js_package(const Compiled& compiled);

struct JsPackage {
  js_package::Package package;
  c_project::Recording recording;
};
// `options`: the version is filled in here. `inputs`: of the recorded run. State is what the program was compiled to
// donate for a result.
Result<JsPackage> js_package(const Compiled& compiled, const std::vector<runtime::Value>& inputs,
                             js_package::Options options);

}  // namespace relay::driver
