#include "relay/driver/compile.h"

#include <algorithm>
#include <memory>

#include "relay/build/batch_calls.h"
#include "relay/build/split_segments.h"
#include "relay/codegen/c/c_backend.h"
#include "relay/codegen/device_backend.h"
#include "relay/codegen/llvm/llvm.h"
#include "relay/codegen/llvm/nvptx/ptx.h"
#include "relay/driver/kernel_store.h"
#include "relay/driver/pass_options.h"
#include "relay/driver/stages.h"
#include "relay/driver/targets.h"
#include "relay/exec/artifact_target.h"
#include "relay/exec/device_code.h"
#include "relay/exec/signature.h"
#include "relay/exec/sizes.h"
#include "relay/external/generators.h"
#include "relay/input/files.h"
#include "relay/ir/attribute_names.h"
#include "relay/ir/interface_names.h"
#include "relay/ir/main_function.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/lower/schedule/schedule_rules.h"
#include "relay/machine/instruction.h"
#include "relay/measure/measure.h"
#include "relay/runtime/artifacts/artifact.h"
#include "relay/runtime/devices/opencl.h"
#include "relay/runtime/threads/thread_pool.h"
#include "relay/runtime/threads/topology.h"
#include "relay/text/text.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/partition/devices.h"
#include "relay/transform/quantise/parameters.h"
#include "relay/typing/typing.h"

namespace relay::driver {

Result<ir::Module> place(const ir::Module& typed, const Options& options, std::vector<std::string>& notes) {
  RELAY_ASSIGN(const transform::DevicePlacement placement, placement_of(options.passes.devices));
  std::vector<transform::LeftToHost> left;
  RELAY_ASSIGN(ir::Module placed, transform::place_on_devices(typed, placement, &left));
  if (options.lower.strict && !left.empty()) return left_to_host(left);
  for (const transform::LeftToHost& one : left) notes.push_back(note_of(one));
  return placed;
}

Result<ir::Module> before_passes(const ir::Module& module, const Options& options, std::vector<std::string>& notes) {
  RELAY_ASSIGN(ir::Module typed, typing::infer(module));
  if (!options.passes.is_optimised) {
    RELAY_RETURN_IF_ERROR(transform::check_quantisation(typed));
    RELAY_ASSIGN(typed, place(typed, options, notes));
  }
  if (options.passes.external.empty() || options.passes.is_optimised) return typed;
  return external::partition(typed, options.passes.external);
}

std::vector<transform::PassInfo> passes_of(const ir::Module& module, const Options& options) {
  std::vector<transform::PassInfo> out;
  if (!options.passes.is_optimised)
    for (const std::string& name : pipeline_of(options.passes).passes) out.push_back(*transform::find_pass(name));
  out.insert(out.end(), options.passes.extra_passes.begin(), options.passes.extra_passes.end());
  // After all passes, which leave functions for other compilers unchanged.
  const bool has_external = std::any_of(module.functions.begin(), module.functions.end(), [](const auto& f) {
    return f.second->attrs.count(ir::attribute::compiler) != 0;
  });
  if (has_external) out.push_back(*transform::find_pass("external_calls"));
  return out;
}

Result<ir::Module> optimise(const ir::Module& module, const Options& options, CompileReport* report) {
  RELAY_RETURN_IF_ERROR(check_options(options));
  transform::PassContext context;
  context.options = pass_options(options);
  context.verify = options.passes.verify;
  context.trace = [&](const transform::PassTrace& trace) {
    if (report) report->passes.push_back({trace.pass.name, trace.seconds * 1e3});
    if (options.passes.trace) options.passes.trace(trace);
  };
  double begin = measure::now();
  RELAY_ASSIGN(ir::Module better, transform::run_these(module, passes_of(module, options), context));
  if (!report) return better;
  report->passes_ms = (measure::now() - begin) * 1e3;
  for (const Diagnostic& warning : context.warnings.all()) report->notes.push_back(warning.message);
  return better;
}

static std::vector<std::string> names_of_outputs(const ir::Module& module, const Options& options) {
  if (!options.run.output_names.empty()) return options.run.output_names;
  if (ir::DictAttrs::const_iterator it = module.attrs.find("output_names"); it != module.attrs.end())
    if (const ir::Strings* given = std::get_if<ir::Strings>(&it->second)) return *given;
  return {};
}

static std::shared_ptr<codegen::Backend> new_backend(const TargetDesc& target, int threads, runtime::Tier tier,
                                                     std::shared_ptr<codegen::ObjectStore> store) {
  if (codegen::is_text_target(target)) return codegen::text_backend(target);
  if (codegen::device_kind(target) == "cuda") return codegen::ptx_backend(target);
  return codegen::llvm_backend(target, threads, tier, codegen::most_fast_operations, std::move(store));
}

// The target, without x86's instructions on vectors of bfloat16 where subnormal numbers count: they flush them to zero,
// whatever the control word says.
static TargetDesc code_target(const Options& options) {
  TargetDesc target = options.lower.target;
  if (options.lower.numerics != lower::Numerics::Ieee) return target;
  std::ranges::replace(target.features, std::string("+avx512bf16"), std::string("-avx512bf16"));
  std::erase_if(target.instructions, [](const InstructionRate& rate) {
    return std::ranges::any_of(machine::instructions(), [&](const machine::Instruction& i) {
      return rate.name == i.name && std::string_view(i.features).find("avx512bf16") != std::string_view::npos;
    });
  });
  return target;
}

// With Tier::Fast, all code is fast, even if the store has full code.
static std::shared_ptr<codegen::Backend> new_backend(const Options& options, runtime::Tier tier = runtime::Tier::Full) {
  TargetDesc machine = code_target(options);
  if (options.lower.codegen_registers > 0) machine.vector_registers = options.lower.codegen_registers;
  return new_backend(machine, options.run.threads > 0 ? options.run.threads : runtime::usable_cores(), tier,
                     options.run.tier == Tier::Fast ? nullptr : kernel_store(machine, options.run.kernels));
}

static lower::LowerOptions lower_options(const Options& options, std::shared_ptr<codegen::Backend> backend) {
  lower::LowerOptions out{.target = code_target(options),
                          .numerics = options.lower.numerics,
                          .schedules = options.lower.schedules,
                          .tuned = options.lower.tuned.decisions,
                          .trace_plan = options.lower.trace_plan,
                          .strict = options.lower.strict,
                          .refused = options.lower.refused_rules,
                          .injected_bug = options.lower.injected_bug};
  // Packages for WebGPU have no steps that depend on values, by which these forms leave out extreme ones.
  if (options.lower.target.triple == codegen::webgpu_triple && options.lower.numerics != lower::Numerics::Fast)
    out.without = {lower::Rule::Winograd, lower::Rule::Strassen};
  if (backend)
    out.take_kernel = [backend](const loop::Kernel& kernel, const std::string& text) { backend->begin(kernel, text); };
  else
    backend = new_backend(options);
  out.check_code = [backend](const loop::Kernel& kernel, const std::string& text) {
    return backend->check(kernel, text);
  };
  return out;
}

static bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

// The options with every schedule under its group's name. Those given by number need a lowering without them, which
// tells the names.
static Result<Options> with_named_schedules(const ir::Module& module, const build::Entry& entry, Options options) {
  std::map<std::string, std::string> named;
  for (auto& [group, text] : options.lower.schedules)
    if (!is_number(group)) named.emplace(group, text);
  if (named.size() == options.lower.schedules.size()) return options;
  Options without = options;
  without.lower.schedules.clear();
  RELAY_ASSIGN(const build::LoweredProgram lowered, lower_program(module, entry, without));
  std::vector<std::string> names;
  for (const exec::LoweredSegment& s : lowered.segments)
    for (const lower::LoweredGroup& group : s.lowered.groups) names.push_back(group.name);
  for (auto& [group, text] : options.lower.schedules) {
    if (!is_number(group)) continue;
    const size_t number = group.size() < 10 ? std::stoul(group) : names.size();
    if (number >= names.size())
      return Diagnostic{DiagnosticKind::illegal_schedule,
                        format("a schedule is given for group {}, but there are {}", group, names.size()),
                        {},
                        {},
                        {},
                        format("the groups are numbered from 0: {}", join(names, ", "))};
    if (!named.emplace(names[number], text).second)
      return Diagnostic{DiagnosticKind::illegal_schedule,
                        format("two schedules are given for group {}, {}", group, names[number]),
                        {},
                        {},
                        {},
                        "give only one, by name or by number"};
  }
  options.lower.schedules = std::move(named);
  return options;
}

Result<build::LoweredProgram> lower_program(const ir::Module& module, const build::Entry& entry, const Options& given,
                                            const std::shared_ptr<codegen::Backend>& backend) {
  RELAY_ASSIGN(const Options options, with_named_schedules(module, entry, given));
  RELAY_ASSIGN(const lower::ExternalCodes codes, external::generate(module));
  lower::LowerOptions lowering = lower_options(options, backend);
  lowering.externals = &codes;
  return build::lower_program(module, entry,
                              {.lowering = std::move(lowering),
                               .batch_calls = options.lower.batch_calls,
                               .passes = program_passes(),
                               .output_names = names_of_outputs(module, options),
                               .verify = options.passes.verify,
                               .trace = options.passes.trace});
}

// Counts the calls of each kernel in a run, and the accesses of those on devices.
static void count_calls(const exec::Built& built, std::span<const lower::LoweredFunction> lowered,
                        CompileReport& report) {
  const runtime::Program& program = *built.program;
  std::unordered_map<std::string, std::vector<std::string>> nodes = build::nodes_by_kernel(lowered);
  for (const runtime::KernelEntry& kernel : program.kernels)
    report.kernels.push_back({kernel.name, 0, std::move(nodes[kernel.name])});
  for (const runtime::Segment& segment : program.segments)
    for (const runtime::Step& step : segment.steps)
      if (step.kind == runtime::Step::Kind::Kernel) ++report.kernels[step.kernel].calls;
  for (uint32_t number : exec::source_kernels(program))
    report.kernels[number].access = loop::access_figures(built.kernels[number]);
}

static void count_externals(const runtime::Program& program, CompileReport& report) {
  for (const runtime::ExternalEntry& e : program.externals) {
    ExternalReport& row = report.externals.emplace_back();
    row.library = e.library, row.symbol = e.symbol, row.payload = static_cast<int64_t>(e.payload.size());
    std::vector<Tensor> constants;
    for (uint32_t c : e.constants) constants.push_back(program.constants[c]);
    for (const Tensor& c : constants) row.bytes += static_cast<int64_t>(c.bytes());
    row.figures = external::figures(e.library, e.payload, constants);
  }
  for (const runtime::Segment& segment : program.segments)
    for (const runtime::Step& step : segment.steps)
      if (step.kind == runtime::Step::Kind::External) ++report.externals[step.kernel].steps;
}

static void count_copies(const runtime::Program& program, CompileReport& report) {
  std::map<std::pair<MemorySpace, MemorySpace>, CopyReport> rows;
  for (const runtime::Segment& segment : program.segments)
    for (const runtime::Step& step : segment.steps) {
      if (!segment.is_transfer(step)) continue;
      const runtime::Array& from = segment.arrays[segment.operands[step.args.begin]];
      const runtime::Array& to = segment.arrays[segment.operands[step.args.begin + 1]];
      CopyReport& row = rows[{from.memory, to.memory}];
      row.from = str(program.devices[from.memory]), row.to = str(program.devices[to.memory]);
      ++row.copies, row.bytes += from.bytes.as_constant().value_or(0);
    }
  for (auto& [memories, row] : rows) report.copies.push_back(std::move(row));
}

Status check_runs_here(const TargetDesc& target) {
  if (!codegen::is_source_only(target)) return runtime::check_machine(exec::artifact_target(target));
  const char* kind = target.triple == codegen::hip_triple ? "rocm:" : "";
  return Diagnostic{DiagnosticKind::bad_option,
                    format("the model is compiled for {}{}, whose kernels are source text that Relay does not run",
                           kind, target.name),
                    {},
                    {},
                    {},
                    "print them with --emit c, or leave the target out to compile for this machine's CPU"};
}

static Result<exec::BuildOptions> build_options(const Options& options) {
  exec::BuildOptions build{.target = options.lower.target,
                           .threads = options.run.threads,
                           .executor = options.run.executor,
                           .memory_limit = options.run.memory_limit,
                           .keeps_subnormals = options.lower.numerics == lower::Numerics::Ieee};
  Status runs_here = check_runs_here(options.lower.target);
  if (runs_here && codegen::device_kind(options.lower.target).empty()) return build;
  if (!runs_here && options.run.make_executable) return runs_here.errors();
  RELAY_ASSIGN(build.host, find_target("native"));
  return build;
}

// The device of this machine that the target names. A program that only leaves the machine runs on the first one.
static DeviceName device_of(const TargetDesc& target) {
  if (codegen::device_kind(target) == "cuda") return DeviceName{"cuda", 0};
  const Result<runtime::OpenClChoice> choice = runtime::find_opencl_device(target.cpu);
  return DeviceName{"opencl", choice ? choice->number : 0};
}

Result<exec::Built> build_program(const build::LoweredProgram& lowered, const ir::Module& module,
                                  const Options& options, const std::shared_ptr<codegen::Backend>& backend) {
  RELAY_ASSIGN(exec::BuildOptions build, build_options(options));
  build.backend = backend;
  build.devices = lowered.devices;
  if (!codegen::device_kind(options.lower.target).empty()) {
    if (build.devices.size() > 1)
      return Diagnostic{DiagnosticKind::bad_option,
                        format("the target {} runs all kernels, but the program places some on {}",
                               options.lower.target.name, str(build.devices[1])),
                        {},
                        {},
                        {},
                        "leave out the devices, or compile for a CPU"};
    build.all_on = device_of(options.lower.target);
  }
  if (lowered.graph) return exec::build_program(lowered.segments[0].lowered, build);
  return exec::build_program(lowered.module, lowered.segments, names_of_outputs(module, options), lowered.entry, build);
}

static int64_t bytes_of_constants(const ir::Module& module) {
  int64_t bytes = 0;
  ir::NodeSet seen;
  for (const auto& [name, f] : module.functions)
    ir::visit(f, [&](const ir::Expr& e) {
      const ir::Constant* c = ir::as<ir::Constant>(e);
      if (c && seen.insert(c)) bytes += static_cast<int64_t>(c->value.bytes());
    });
  return bytes;
}

// "12 of 30 groups are tuned (records of 2026-11-28)"; empty if none is.
static std::string tuned_note(const CompileReport& report, const cache::TuningRecords& records) {
  int64_t tuned = 0;
  std::string date;
  for (const GroupReport& group : report.groups) {
    if (!group.tuned) continue;
    ++tuned;
    if (const auto found = records.dates.find(group.key); found != records.dates.end())
      date = std::max(date, found->second);
  }
  if (tuned == 0) return "";
  return format("{} of {} groups {} tuned (records of {}); --no-tuned leaves the records out", tuned,
                report.groups.size(), tuned == 1 ? "is" : "are", date);
}

// The tier of the code that the first run uses.
static runtime::Tier first_tier(const Options& options) {
  const bool is_full = options.run.tier == Tier::Full || !codegen::device_kind(options.lower.target).empty();
  return is_full ? runtime::Tier::Full : runtime::Tier::Fast;
}

Result<Compiled> compile(const ir::Module& module, const Options& options) {
  RELAY_RETURN_IF_ERROR(runtime::check_thread_setting());
  RELAY_RETURN_IF_ERROR(runtime::check_threads(options.run.threads));
  Compiled out;
  CompileReport& report = out.report;
  report.target = options.lower.target;
  report.opt_level = options.passes.opt_level;
  report.numerics = options.lower.numerics;
  report.threads = options.run.threads > 0 ? options.run.threads : runtime::ThreadPool::global().size();

  report.model_bytes = bytes_of_constants(module);

  // Relay to Relay.
  RELAY_ASSIGN(const ir::Module typed, before_passes(module, options, report.notes));
  const build::Entry entry = build::entry_of(typed);
  build::Provenance nodes(typed);
  Options traced = options;
  traced.passes.trace = [&](const transform::PassTrace& trace) {
    nodes.see(trace.pass.name, trace.after);
    if (options.passes.trace) options.passes.trace(trace);
  };
  RELAY_ASSIGN(out.module, optimise(typed, traced, &report));

  // Groups to loops.
  double begin = measure::now();
  RELAY_ASSIGN(traced, with_named_schedules(out.module, entry, traced));
  out.tier = first_tier(options);
  out.backend = new_backend(options, out.tier);
  RELAY_ASSIGN(build::LoweredProgram lowered, lower_program(out.module, entry, traced, out.backend));
  report.lower_ms = (measure::now() - begin) * 1e3;
  for (const exec::LoweredSegment& s : lowered.segments) {
    for (const lower::LoweredGroup& group : s.lowered.groups)
      report.groups.push_back({group.name, group.rule, group.flops, traced.lower.schedules.count(group.name) > 0,
                               group.key, group.tuned,
                               group.algorithm ? std::string(lower::name(*group.algorithm)) : "",
                               group.gain.saved_ns * 1e-6, group.gain.added_bytes});
    for (const lower::Refusal& refusal : s.lowered.refusals) report.refusals.push_back(lower::str(refusal));
    out.lowered.push_back(s.lowered);
  }
  if (const std::string note = tuned_note(report, options.lower.tuned); !note.empty()) report.notes.push_back(note);
  if (const std::string note = precision_note(options); !note.empty()) report.notes.push_back(note);
  if (std::optional<std::string> problem = problem_of_kernel_package()) report.notes.push_back(*std::move(problem));
  report.batching = lowered.batching;
  report.nodes = nodes.report(out.lowered);

  // Work on constants, done now.
  RELAY_ASSIGN(out.built, build_program(lowered, out.module, options, out.backend));
  if (out.built.program->devices.size() > 1 && out.tier == runtime::Tier::Fast)  // code is exchanged on the host only
    out.tier = runtime::Tier::Full, out.backend = new_backend(options);
  if (out.tier == runtime::Tier::Fast && !out.backend->has_fast_code(out.built.kernels)) out.tier = runtime::Tier::Full;
  if (!options.run.donate.empty()) {
    runtime::Program program = *out.built.program;
    RELAY_ASSIGN(program.donations, donations(program, options.run.donate));
    report.donations = donation_report(program, lowered.graph ? &out.lowered[0] : nullptr);
    out.built.program = std::make_shared<const runtime::Program>(std::move(program));
  }
  report.functions = static_cast<int64_t>(out.built.program->functions.size());
  report.segments = static_cast<int64_t>(out.built.program->segments.size());
  report.constant_ms = out.built.constant_ms;
  report.constant_steps = out.built.constant_steps;
  report.constant_bytes = out.built.constant_bytes, report.prepared_bytes = out.built.prepared_bytes;
  count_calls(out.built, out.lowered, report);
  count_externals(*out.built.program, report);
  count_copies(*out.built.program, report);

  report.executor = lowered.graph ? runtime::Executor::Graph : options.run.executor.value_or(runtime::Executor::Vm);
  if (options.run.make_executable) RELAY_RETURN_IF_ERROR(make_executable(out, options));
  return out;
}

Compiled with_full_code(Compiled compiled, const Options& options) {
  compiled.backend = new_backend(options), compiled.tier = runtime::Tier::Full;
  return compiled;
}

Compiled without_executable(const Compiled& compiled) {
  Compiled out = compiled;
  out.executable = nullptr, out.backend = nullptr;
  return out;
}

Result<std::shared_ptr<const runtime::KernelLibrary>> kernels_of(const Compiled& compiled) {
  RELAY_ASSIGN(std::shared_ptr<runtime::KernelLibrary> library,
               compiled.backend->compile(compiled.built.kernels, nullptr));
  return std::shared_ptr<const runtime::KernelLibrary>(std::move(library));
}

// Loops to machine code.
Status make_executable(Compiled& compiled, const Options& options) {
  double begin = measure::now();
  RELAY_ASSIGN(exec::BuildOptions build, build_options(options));
  build.backend = std::move(compiled.backend);
  build.tier = compiled.report.tier = compiled.tier;
  RELAY_ASSIGN(compiled.executable, exec::build(compiled.built, build));
  if (compiled.tier == runtime::Tier::Fast && options.run.tier == Tier::Auto)
    compiled.executable->set_upgrade(upgrade(
        compiled.executable->code(),
        [program = without_executable(compiled), options] { return kernels_of(with_full_code(program, options)); }));
  compiled.report.codegen_ms = (measure::now() - begin) * 1e3;
  compiled.report.executor = compiled.executable->executor();
  return ok();
}

ir::Module interface_of(const ir::Module& module) {
  ir::Module out;
  out.types = module.types;
  std::vector<ir::VarRef> params;
  for (const ir::VarRef& p : module.functions.at(ir::main_function)->params)
    params.push_back(ir::var(p->name, p->type ? p->type : p->annotation));
  ir::DictAttrs attrs;
  for (const auto& [name, value] : module.functions.at(ir::main_function)->attrs)
    if (std::ranges::find(ir::interface::all, name) != std::end(ir::interface::all)) attrs[name] = value;
  out.functions[ir::main_function] = ir::function(std::move(params), ir::tuple({}), {}, {}, std::move(attrs));
  return out;
}

static constexpr std::pair<FileForm, const char*> form_names[] = {
    {FileForm::Artifact, "artifact"},  {FileForm::SharedLibrary, "so"}, {FileForm::Object, "obj"},
    {FileForm::Archive, "a"},          {FileForm::CSource, "c"},        {FileForm::Ptx, "ptx"},
    {FileForm::CProject, "c-project"}, {FileForm::JsPackage, "wasm"},   {FileForm::GpuPackage, "webgpu"}};

const char* name(FileForm form) {
  for (const auto& [known, text] : form_names)
    if (known == form) return text;
  return "";
}

bool is_package(FileForm form) { return form == FileForm::JsPackage || form == FileForm::GpuPackage; }
bool is_folder(FileForm form) { return form == FileForm::CProject || is_package(form); }

std::optional<FileForm> file_form(const std::string& name) {
  for (const auto& [form, known] : form_names)
    if (name == known) return form;
  return {};
}

FileForm form_for(const std::string& path) {
  if (path.ends_with(".so")) return FileForm::SharedLibrary;
  if (path.ends_with(".o")) return FileForm::Object;
  if (path.ends_with(".ptx")) return FileForm::Ptx;
  if (path.ends_with(".a")) return FileForm::Archive;
  return path.ends_with(".c") ? FileForm::CSource : FileForm::Artifact;
}

Status save(const Compiled& compiled, FileForm form, const std::string& path, runtime::Tier tier) {
  const TargetDesc& target = compiled.report.target;
  const std::shared_ptr<codegen::Backend> backend =
      compiled.backend && compiled.tier == tier
          ? compiled.backend
          : new_backend(target, compiled.report.threads, tier, kernel_store(target, {}));
  if (form == FileForm::Artifact) {
    CompileReport report = compiled.report;
    report.tier = tier;
    std::vector<runtime::Note> notes = {{report_note, json(report, *compiled.built.program, false)},
                                        {interface_note, text::str(interface_of(compiled.module))}};
    if (tier == runtime::Tier::Fast) notes.push_back({fast_note, ""});
    return exec::save(compiled.built,
                      {.target = target,
                       .threads = compiled.report.threads,
                       .executor = compiled.report.executor,
                       .backend = backend},
                      std::move(notes), path);
  }
  if (is_folder(form))
    return Diagnostic{DiagnosticKind::bad_option,
                      "a folder is written by the command line only",
                      {},
                      {},
                      {},
                      format("relay compile MODEL --emit {} -o {}", name(form), path)};
  if (form == FileForm::CSource || form == FileForm::Ptx) {
    if (form == FileForm::Ptx) RELAY_RETURN_IF_ERROR(check_has_ptx(target));
    const bool is_c = form == FileForm::CSource && !codegen::is_text_target(target);
    const std::shared_ptr<codegen::Backend> writer = is_c ? codegen::c99_backend() : backend;
    RELAY_ASSIGN(const std::string text, writer->emit(compiled.built.kernels, nullptr, codegen::CodeForm::Source));
    return write_file(path, text);
  }
  const codegen::CodeForm code = form == FileForm::Object    ? codegen::CodeForm::Object
                                 : form == FileForm::Archive ? codegen::CodeForm::Archive
                                                             : codegen::CodeForm::SharedLibrary;
  RELAY_ASSIGN(std::string bytes, backend->emit(compiled.built.kernels, nullptr, code));
  return write_file(path, bytes);
}

}  // namespace relay::driver
