// The steps of a network on WebGPU: kernels on one buffer. Internal to js_package.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "relay/codegen/c/c_source.h"
#include "relay/codegen/llvm/wasm_module.h"

namespace relay::js_package {

// not_supported for steps that packages for WebGPU do not have.
Status check_gpu_steps(const codegen::WasmProgram& program);

// The data of model.mjs: the bytes of the buffer, the place of each named block in it, the kernels, and the steps with
// the first word of each array.
nlohmann::ordered_json gpu_description(const codegen::WasmProgram& program,
                                       std::span<const codegen::WgslLaunch> launches);

}  // namespace relay::js_package
