// Backends for devices that programs reach through a driver (runtime/devices/device.h): kernels are text, which the
// driver compiles. c/c_backend.cpp derives OpenCL C, HIP C++, Metal and WGSL from this, and
// llvm/nvptx/ptx_backend.cpp PTX.
#pragma once

#include <string_view>
#include <unordered_set>

#include "relay/codegen/backend.h"

namespace relay::codegen {

// The kind of device that a target is, as in "opencl:0"; empty for processors.
inline std::string_view device_kind(const TargetDesc& target) {
  if (target.triple == "opencl") return "opencl";
  return target.triple == "nvptx64-nvidia-cuda" ? "cuda" : "";
}

// The triple of WebGPU, whose programs run in browsers and not by this runtime.
constexpr const char* webgpu_triple = "webgpu";

// The triples of GPUs of AMD and Apple, whose kernels are text for the vendors' compilers.
constexpr const char *hip_triple = "amdgcn-amd-amdhsa", *metal_triple = "metal";

// True if this runtime runs no kernels of the target.
inline bool is_source_only(const TargetDesc& target) {
  return target.triple == webgpu_triple || target.triple == hip_triple || target.triple == metal_triple;
}

// Returns bad_option: the target's kernels are text in `language`; there is no `what`.
Diagnostic not_in_form(std::string_view language, std::string_view what);

class DeviceBackend : public Backend {
 public:
  // `kind`: as device_kind(). `language`: of the text, for messages.
  DeviceBackend(std::string_view kind, std::string_view language) : kind_(kind), language_(language) {}

  Status check(const loop::Kernel& kernel, const std::string& text) override;
  void begin(const loop::Kernel&, const std::string&) override {}
  Result<std::shared_ptr<KernelLibrary>> compile(std::span<const loop::Kernel> kernels,
                                                 const runtime::Program* functions) override;
  Result<std::string> emit(std::span<const loop::Kernel> kernels, const runtime::Program* functions,
                           CodeForm form) override;

 protected:
  virtual Result<std::string> text_of(std::span<const loop::Kernel> kernels) const = 0;
  // Refuses kernels that the device cannot run.
  virtual Status check_kernel(const loop::Kernel& kernel) const = 0;
  // Refuses kernels whose arguments take more than `most` bytes; `per_array`: those of an array.
  Status check_arguments(const loop::Kernel& kernel, size_t per_array, size_t most) const;

 private:
  Status check_functions(const runtime::Program* functions) const;

  const std::string kind_, language_;
  std::unordered_set<std::string> checked_;  // texts of kernels
};

}  // namespace relay::codegen
