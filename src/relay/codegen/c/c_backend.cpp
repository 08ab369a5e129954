#include "relay/codegen/c/c_backend.h"

#include <algorithm>
#include <unordered_set>

#include "relay/codegen/c/c_source.h"

namespace relay::codegen {

namespace {

Diagnostic no_such_form(const char* language, const char* what) {
  return {DiagnosticKind::bad_option,
          format("kernels in {} are source text, not {}", language, what),
          {},
          {},
          {},
          "write an artifact or source, or choose a CPU as the target"};
}

class C99Backend : public Backend {
 public:
  Status check(const loop::Kernel&, const std::string&) override { return ok(); }
  void begin(const loop::Kernel&, const std::string&) override {}
  Result<std::shared_ptr<KernelLibrary>> compile(std::span<const loop::Kernel>, const runtime::Program*) override {
    return no_such_form("C99", "code for this process");
  }
  Result<std::string> emit(std::span<const loop::Kernel> kernels, const runtime::Program*, CodeForm form) override {
    if (form == CodeForm::Source) return c_source(kernels);
    return no_such_form("C99", form == CodeForm::Artifact ? "code of an artifact" : "machine code");
  }
};

class OpenClBackend : public Backend {
 public:
  explicit OpenClBackend(const TargetDesc& target)
      : has_double_(has(target, "+fp64")), has_fine_tasks_(has(target, "+fine-tasks")) {}

  Status check(const loop::Kernel& kernel, const std::string& text) override {
    if (checked_.contains(text)) return ok();
    if (!has_double_ && opencl_source({&kernel, 1}, has_fine_tasks_).find("cl_khr_fp64") != std::string::npos)
      return Diagnostic{DiagnosticKind::not_supported,
                        format("kernel `{}` computes in float64, and the device lacks cl_khr_fp64", kernel.name),
                        {},
                        {},
                        {},
                        "convert the model to float32, or choose another device"};
    // An array takes a pointer and a position; tasks and scratch memory take three more.
    constexpr size_t most_bytes = 1024;  // of arguments, which every device allows
    const size_t bytes = 8 * (2 * kernel.params.size() + kernel.shape_vars.size() + 3);
    if (bytes > most_bytes)
      return Diagnostic{DiagnosticKind::not_supported,
                        format("kernel `{}` has {} arrays: its arguments take {} bytes, and OpenCL allows {}",
                               kernel.name, kernel.params.size(), bytes, most_bytes),
                        {},
                        {},
                        {},
                        "give operators such as concatenate fewer inputs, in several steps"};
    checked_.insert(text);
    return ok();
  }
  void begin(const loop::Kernel&, const std::string&) override {}

  Result<std::shared_ptr<KernelLibrary>> compile(std::span<const loop::Kernel> kernels,
                                                 const runtime::Program* functions) override {
    if (functions) return without_functions();
    return std::shared_ptr<KernelLibrary>(
        std::make_shared<runtime::SourceLibrary>(opencl_source(kernels, has_fine_tasks_)));
  }

  Result<std::string> emit(std::span<const loop::Kernel> kernels, const runtime::Program* functions,
                           CodeForm form) override {
    if (functions) return without_functions();
    if (form == CodeForm::Source || form == CodeForm::Artifact) return opencl_source(kernels, has_fine_tasks_);
    return no_such_form("OpenCL C", "machine code");
  }

 private:
  static bool has(const TargetDesc& target, const char* feature) {
    return std::find(target.features.begin(), target.features.end(), feature) != target.features.end();
  }
  static Diagnostic without_functions() {
    return {DiagnosticKind::bad_option,
            "functions are not compiled ahead of time for OpenCL",
            {},
            {},
            {},
            "leave out --aot: the VM runs the functions, and the device their kernels"};
  }

  const bool has_double_, has_fine_tasks_;
  std::unordered_set<std::string> checked_;  // texts of kernels
};

}  // namespace

std::unique_ptr<Backend> c99_backend() { return std::make_unique<C99Backend>(); }
std::unique_ptr<Backend> opencl_backend(const TargetDesc& target) { return std::make_unique<OpenClBackend>(target); }

}  // namespace relay::codegen
