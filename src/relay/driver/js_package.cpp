#include "relay/driver/js_package.h"

#include "relay/driver/c_project.h"
#include "relay/driver/version.h"

namespace relay::driver {

Status check_js_package(const Compiled& compiled) {
  const std::string& target = compiled.report.target.name;
  if (!starts_with(compiled.report.target.triple, "wasm32"))
    return Diagnostic{DiagnosticKind::bad_option,
                      format("a JavaScript package is compiled for WebAssembly, but the target is {}", target),
                      {},
                      {},
                      {},
                      format("leave out --target, or give {} or wasm32-relaxed", js_package_target)};
  Diagnostics errors;
  if (!compiled.built.program->is_graph())
    errors.push_back(
        {DiagnosticKind::not_supported,
         "a JavaScript package has one straight line of kernels, but the program has control flow or "
         "functions that are not expanded",
         {},
         {},
         {},
         "export the model without control flow and with fixed sizes; an artifact (--emit artifact) has no "
         "such limits"});
  for (Diagnostic& d : c_project::refusals(*compiled.built.program, {}, "a JavaScript package"))
    errors.push_back(std::move(d));
  if (errors.empty()) return ok();
  return errors;
}

Result<JsPackage> js_package(const Compiled& compiled, const std::vector<runtime::Value>& inputs,
                             js_package::Options options) {
  RELAY_RETURN_IF_ERROR(check_js_package(compiled));
  RELAY_ASSIGN(Recorded recorded, record(compiled, inputs));
  RELAY_ASSIGN(const std::string object,
               compiled.backend->emit(compiled.built.kernels, nullptr, codegen::CodeForm::Object));
  options.version = version;
  JsPackage out;
  out.recording = std::move(recorded.run);
  RELAY_ASSIGN(out.package, js_package::write(*compiled.built.program, compiled.built.kernels, object, out.recording,
                                              options, compiled.report.target));
  return out;
}

}  // namespace relay::driver
