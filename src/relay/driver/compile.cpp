#include "relay/driver/compile.h"

#include <algorithm>

#include "relay/codegen/codegen.h"
#include "relay/driver/files.h"
#include "relay/driver/measure.h"
#include "relay/driver/targets.h"
#include "relay/runtime/artifact.h"
#include "relay/runtime/thread_pool.h"

namespace relay::driver {

static Diagnostic bad_option(std::string message, std::string help) {
  return Diagnostic{DiagnosticKind::bad_option, std::move(message), {}, {}, {}, std::move(help)};
}

static Result<lower::Numerics> find_numerics(const std::string& name) {
  if (name == "fp32") return lower::Numerics::Fp32;
  if (name == "fast") return lower::Numerics::Fast;
  return bad_option(format("there is no arithmetic class '{}'", name), "the classes are fp32 and fast");
}

Status check_options(const CompileOptions& options) {
  RELAY_RETURN_IF_ERROR(find_numerics(options.numerics));
  if (options.opt_level < 0 || options.opt_level > max_opt_level)
    return bad_option(format("there is no optimisation level {}", options.opt_level),
                      format("the levels are 0 to {}", max_opt_level));
  if (options.threads < 0 || options.threads > 1024)
    return bad_option(format("{} threads cannot be used", options.threads), "0: the cores this process may use");
  return ok();
}

Result<ir::Module> optimise(const ir::Module& module, const CompileOptions& options, CompileReport* report) {
  RELAY_RETURN_IF_ERROR(check_options(options));
  Pipeline passes = pipeline(options.opt_level);
  transform::PassContext context;
  context.options = passes.options;
  context.verify = options.verify;
  context.trace = [&](const transform::PassTrace& trace) {
    if (report) report->passes.push_back({trace.pass.name, trace.seconds * 1e3});
    if (options.trace) options.trace(trace);
  };
  double begin = now();
  RELAY_ASSIGN(ir::Module better, transform::run_passes(module, passes.passes, context));
  if (!report) return better;
  report->passes_ms = (now() - begin) * 1e3;
  for (const Diagnostic& warning : context.warnings.all()) report->notes.push_back(warning.message);
  return better;
}

// Results are named as the model names them; without names "output", or "output0" and on.
static void name_outputs(lower::LoweredFunction& lowered, const ir::Module& module, std::vector<std::string> names) {
  if (names.empty())
    if (ir::DictAttrs::const_iterator it = module.attrs.find("output_names"); it != module.attrs.end())
      if (const ir::Strings* given = std::get_if<ir::Strings>(&it->second)) names = *given;
  int64_t count = std::count_if(lowered.arrays.begin(), lowered.arrays.end(),
                                [](const lower::Array& a) { return a.kind == lower::Array::Kind::Output; });
  for (lower::Array& array : lowered.arrays) {
    if (array.kind != lower::Array::Kind::Output || array.index < 0) continue;
    size_t index = static_cast<size_t>(array.index);
    array.name = index < names.size() && !names[index].empty() ? names[index]
                 : count == 1                                  ? "output"
                                                               : format("output{}", index);
  }
}

Result<lower::LoweredFunction> lower_main(const ir::Module& module, const CompileOptions& options) {
  std::map<std::string, ir::FunctionRef>::const_iterator main = module.functions.find("main");
  if (main == module.functions.end())
    return Diagnostic{DiagnosticKind::unknown_global,      "the module has no @main to compile", {}, {}, {},
                      "name the function to compile @main"};
  RELAY_ASSIGN(lower::Numerics numerics, find_numerics(options.numerics));
  RELAY_ASSIGN(lower::LoweredFunction lowered,
               lower::lower(main->second, "main",
                            {.target = options.target, .numerics = numerics, .schedules = options.schedules}));
  name_outputs(lowered, module, options.output_names);
  return lowered;
}

static runtime::ArtifactTarget artifact_target(const TargetDesc& target) {
  return {target.name, target.triple, target.cpu, target.features};
}

// Which kernels a run calls, and how often.
static void count_calls(const runtime::Program& program, CompileReport& report) {
  for (const runtime::KernelEntry& kernel : program.kernels) report.kernels.push_back({kernel.name, 0});
  for (const runtime::Segment& segment : program.segments)
    for (const runtime::Step& step : segment.steps)
      if (step.kind == runtime::Step::Kind::Kernel) ++report.kernels[step.kernel].calls;
}

Result<Compiled> compile(const ir::Module& module, const CompileOptions& options) {
  Compiled out;
  CompileReport& report = out.report;
  report.target = options.target;
  report.opt_level = options.opt_level;
  report.numerics = options.numerics;
  report.threads = options.threads > 0 ? options.threads : runtime::ThreadPool::global().size();

  // Relay to Relay.
  RELAY_ASSIGN(out.module, optimise(module, options, &report));

  // Groups to loops.
  double begin = now();
  RELAY_ASSIGN(out.lowered, lower_main(out.module, options));
  report.lower_ms = (now() - begin) * 1e3;
  for (const lower::Group& group : out.lowered.groups)
    report.groups.push_back({group.name, group.rule, group.flops, options.schedules.count(group.name) > 0});

  // Work on constants, done now. For another machine it is done with this one's instructions.
  exec::BuildOptions build{.target = options.target, .threads = options.threads, .force_vm = options.force_vm};
  Status runs_here = runtime::check_machine(artifact_target(options.target));
  if (!runs_here) {
    if (options.run_here) return runs_here.errors();
    RELAY_ASSIGN(build.host, find_target("native"));
  }
  RELAY_ASSIGN(out.built, exec::build_program(out.lowered, build));
  report.constant_ms = out.built.constant_ms;
  report.constant_steps = out.built.constant_steps;
  report.constant_bytes = out.built.constant_bytes;
  count_calls(*out.built.program, report);

  // Loops to machine code.
  if (options.run_here) {
    begin = now();
    RELAY_ASSIGN(out.executable, exec::build(out.built, build));
    report.codegen_ms = (now() - begin) * 1e3;
    report.vm = !out.executable->runs_as_graph();
    report.vm_forced = options.force_vm;
  }
  return out;
}

Status save(const Compiled& compiled, FileForm form, const std::string& path) {
  const TargetDesc& target = compiled.report.target;
  if (form == FileForm::Artifact) return exec::save(compiled.built, {.target = target}, path);
  RELAY_ASSIGN(std::string bytes, form == FileForm::Object ? codegen::object_file(compiled.built.kernels, target)
                                                           : codegen::shared_library(compiled.built.kernels, target));
  return write_file(path, bytes);
}

}  // namespace relay::driver
