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

}  // namespace

std::unique_ptr<Backend> c99_backend() { return std::make_unique<C99Backend>(); }
std::unique_ptr<Backend> opencl_backend(const TargetDesc& target) { return std::make_unique<OpenClBackend>(target); }

}  // namespace relay::codegen
