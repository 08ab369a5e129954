#include "relay/codegen/c/c_backend.h"

#include <algorithm>

#include "relay/codegen/c/c_source.h"
#include "relay/codegen/device_backend.h"

namespace relay::codegen {

namespace {

class C99Backend : public Backend {
 public:
  Status check(const loop::Kernel&, const std::string&) override { return ok(); }
  void begin(const loop::Kernel&, const std::string&) override {}
  Result<std::shared_ptr<KernelLibrary>> compile(std::span<const loop::Kernel>, const runtime::Program*) override {
    return not_in_form("C99", "code for this process");
  }
  Result<std::string> emit(std::span<const loop::Kernel> kernels, const runtime::Program*, CodeForm form) override {
    if (form == CodeForm::Source) return c_source(kernels);
    return not_in_form("C99", form == CodeForm::Artifact ? "code of an artifact" : "machine code");
  }
};

class OpenClBackend : public DeviceBackend {
 public:
  explicit OpenClBackend(const TargetDesc& target)
      : DeviceBackend("opencl", opencl_c.name),
        has_double_(has(target, "+fp64")),
        has_fine_tasks_(has(target, "+fine-tasks")) {}

 protected:
  Result<std::string> text_of(std::span<const loop::Kernel> kernels) const override {
    return opencl_source(kernels, has_fine_tasks_);
  }
  Status check_kernel(const loop::Kernel& kernel) const override {
    if (!has_double_ && opencl_source({&kernel, 1}, has_fine_tasks_).find("cl_khr_fp64") != std::string::npos)
      return Diagnostic{DiagnosticKind::not_supported,
                        format("kernel `{}` computes in float64, and the device lacks cl_khr_fp64", kernel.name),
                        {},
                        {},
                        {},
                        "convert the model to float32, or choose another device"};
    // An array takes a pointer and a position. Every device allows 1024 bytes.
    return check_arguments(kernel, 16, 1024);
  }

 private:
  static bool has(const TargetDesc& target, const char* feature) {
    return std::find(target.features.begin(), target.features.end(), feature) != target.features.end();
  }

  const bool has_double_, has_fine_tasks_;
};

// Languages whose compilers and drivers belong to others: nothing here runs the kernels.
class SourceOnlyBackend : public DeviceBackend {
 public:
  // `where`: the place in which programs run, and a way out.
  SourceOnlyBackend(std::string_view kind, const Dialect& dialect, std::string where, std::string help)
      : DeviceBackend(kind, dialect.name), where_(std::move(where)), help_(std::move(help)) {}

  Result<std::string> emit(std::span<const loop::Kernel> kernels, const runtime::Program* functions,
                           CodeForm form) override {
    if (form != CodeForm::Artifact) return DeviceBackend::emit(kernels, functions, form);
    return Diagnostic{DiagnosticKind::bad_option, format("{}, and not from an artifact", where_), {}, {}, {}, help_};
  }

 private:
  const std::string where_, help_;
};

class WebGpuBackend final : public SourceOnlyBackend {
 public:
  WebGpuBackend()
      : SourceOnlyBackend(webgpu_triple, wgsl, "programs for WebGPU run in browsers",
                          "write a package, with --emit webgpu and a folder") {}

 protected:
  Result<std::string> text_of(std::span<const loop::Kernel> kernels) const override {
    return wgsl_source(kernels).text;
  }
  Status check_kernel(const loop::Kernel& kernel) const override {
    const std::optional<std::string> problem = wgsl_problem(kernel);
    if (!problem) return ok();
    return Diagnostic{
        DiagnosticKind::not_supported,
        format("kernel `{}` cannot be written for WebGPU: {}", kernel.name, *problem),
        {},
        {},
        {},
        "WGSL has float32, int32 and uint32, and sizes must be constant (--shape): change the model, or write a "
        "package with --emit wasm"};
  }
};

constexpr const char* by_opencl = "print the kernels with --emit c; to run them, compile for the GPU's OpenCL driver";

class HipBackend final : public SourceOnlyBackend {
 public:
  HipBackend() : SourceOnlyBackend(hip_triple, hip_c, "kernels in HIP C++ run in programs that call them", by_opencl) {}

 protected:
  Result<std::string> text_of(std::span<const loop::Kernel> kernels) const override { return hip_source(kernels); }
  Status check_kernel(const loop::Kernel& kernel) const override { return check_arguments(kernel, 8, 4096); }
};

class MetalBackend final : public SourceOnlyBackend {
 public:
  MetalBackend()
      : SourceOnlyBackend(metal_triple, metal, "kernels of Metal run in programs that call them", by_opencl) {}

 protected:
  Result<std::string> text_of(std::span<const loop::Kernel> kernels) const override { return metal_source(kernels); }
  Status check_kernel(const loop::Kernel& kernel) const override {
    const std::optional<std::string> problem = metal_problem(kernel);
    if (!problem) return ok();
    return Diagnostic{DiagnosticKind::not_supported,
                      format("kernel `{}` cannot be written for Metal: {}", kernel.name, *problem),
                      {},
                      {},
                      {},
                      "convert the model to float32, and give operators such as concatenate fewer inputs"};
  }
};

}  // namespace

bool is_text_target(const TargetDesc& target) { return is_source_only(target) || device_kind(target) == "opencl"; }

std::unique_ptr<Backend> text_backend(const TargetDesc& target) {
  if (target.triple == webgpu_triple) return std::make_unique<WebGpuBackend>();
  if (target.triple == hip_triple) return std::make_unique<HipBackend>();
  if (target.triple == metal_triple) return std::make_unique<MetalBackend>();
  return device_kind(target) == "opencl" ? opencl_backend(target) : c99_backend();
}

std::unique_ptr<Backend> c99_backend() { return std::make_unique<C99Backend>(); }
std::unique_ptr<Backend> opencl_backend(const TargetDesc& target) { return std::make_unique<OpenClBackend>(target); }

}  // namespace relay::codegen
