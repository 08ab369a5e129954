#include "relay/driver/js_package.h"

#include "relay/codegen/c/c_source.h"
#include "relay/codegen/device_backend.h"
#include "relay/driver/c_project.h"
#include "relay/driver/targets.h"
#include "relay/driver/version.h"

namespace relay::driver {

static bool is_for_gpus(const Compiled& compiled) { return compiled.report.target.triple == codegen::webgpu_triple; }

Status check_js_package(const Compiled& compiled) {
  const std::string& target = compiled.report.target.name;
  if (!starts_with(compiled.report.target.triple, "wasm32") && !is_for_gpus(compiled))
    return Diagnostic{
        DiagnosticKind::bad_option,
        format("a JavaScript package is compiled for WebAssembly or WebGPU, but the target is {}", target),
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

// The same module for this machine.
static Result<Compiled> compiled_here(const Compiled& compiled) {
  Options options;
  options.passes.is_optimised = true;
  RELAY_ASSIGN(options.lower.target, find_target("native"));
  prepare_for_c(options);
  return compile(compiled.module, options);
}

static Result<JsPackage> gpu_package(const Compiled& compiled, const std::vector<runtime::Value>& inputs,
                                     const js_package::Options& options) {
  RELAY_ASSIGN(const Compiled here, compiled_here(compiled));
  RELAY_ASSIGN(Recorded recorded, record(here, inputs));
  JsPackage out;
  out.recording = std::move(recorded.run);
  RELAY_ASSIGN(out.package, js_package::write(*compiled.built.program, compiled.built.kernels,
                                              codegen::wgsl_source(compiled.built.kernels), out.recording, options,
                                              compiled.report.target));
  return out;
}

Result<JsPackage> js_package(const Compiled& compiled, const std::vector<runtime::Value>& inputs,
                             js_package::Options options) {
  RELAY_RETURN_IF_ERROR(check_js_package(compiled));
  options.version = version;
  if (is_for_gpus(compiled)) return gpu_package(compiled, inputs, options);
  RELAY_ASSIGN(Recorded recorded, record(compiled, inputs));
  RELAY_ASSIGN(const std::string object,
               compiled.backend->emit(compiled.built.kernels, nullptr, codegen::CodeForm::Object));
  JsPackage out;
  out.recording = std::move(recorded.run);
  RELAY_ASSIGN(out.package, js_package::write(*compiled.built.program, compiled.built.kernels, object, out.recording,
                                              options, compiled.report.target));
  return out;
}

}  // namespace relay::driver
