#include "relay/codegen/device_backend.h"

namespace relay::codegen {

Diagnostic not_in_form(std::string_view language, std::string_view what) {
  return {DiagnosticKind::bad_option,
          format("kernels in {} are source text, not {}", language, what),
          {},
          {},
          {},
          "write an artifact or source, or choose a CPU as the target"};
}

Status DeviceBackend::check(const loop::Kernel& kernel, const std::string& text) {
  if (checked_.contains(text)) return ok();
  RELAY_RETURN_IF_ERROR(check_kernel(kernel));
  checked_.insert(text);
  return ok();
}

Status DeviceBackend::check_arguments(const loop::Kernel& kernel, size_t per_array, size_t most) const {
  constexpr size_t others = 3;  // tasks and scratch memory
  const size_t bytes = per_array * kernel.params.size() + 8 * (kernel.shape_vars.size() + others);
  if (bytes <= most) return ok();
  return Diagnostic{DiagnosticKind::not_supported,
                    format("kernel `{}` has {} arrays: its arguments take {} bytes, and {} allows {}", kernel.name,
                           kernel.params.size(), bytes, language_, most),
                    {},
                    {},
                    {},
                    "give operators such as concatenate fewer inputs, in several steps"};
}

Status DeviceBackend::check_functions(const runtime::Program* functions) const {
  if (!functions) return ok();
  return Diagnostic{DiagnosticKind::bad_option,
                    format("functions are not compiled ahead of time to {}", language_),
                    {},
                    {},
                    {},
                    "leave out --aot: the VM runs the functions, and the device their kernels"};
}

Result<std::shared_ptr<KernelLibrary>> DeviceBackend::compile(std::span<const loop::Kernel> kernels,
                                                              const runtime::Program* functions) {
  RELAY_RETURN_IF_ERROR(check_functions(functions));
  RELAY_ASSIGN(std::string text, text_of(kernels));
  return std::shared_ptr<KernelLibrary>(std::make_shared<runtime::SourceLibrary>(kind_, std::move(text)));
}

Result<std::string> DeviceBackend::emit(std::span<const loop::Kernel> kernels, const runtime::Program* functions,
                                        CodeForm form) {
  RELAY_RETURN_IF_ERROR(check_functions(functions));
  if (form == CodeForm::Source || form == CodeForm::Artifact) return text_of(kernels);
  return not_in_form(language_, "machine code");
}

}  // namespace relay::codegen
