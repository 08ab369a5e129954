#include "relay/driver/c_project.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "relay/base/output_file.h"
#include "relay/codegen/device_backend.h"
#include "relay/codegen/llvm/llvm.h"
#include "relay/codegen/scalar_form.h"
#include "relay/driver/rehearsal.h"
#include "relay/driver/targets.h"
#include "relay/driver/version.h"
#include "relay/input/inputs.h"
#include "relay/ir/attribute_names.h"
#include "relay/ir/rewrite.h"
#include "relay/op/op.h"
#include "relay/runtime/preparations.h"
#include "relay/target/others/others.h"
#include "relay/typing/typing.h"

namespace relay::driver {

void prepare_for_c(Options& options) {
  options.run.make_executable = false;
  options.lower.batch_calls = build::BatchCalls::Never;
}

static Diagnostic not_in_c(std::string message, const Span& span, std::string help) {
  return {DiagnosticKind::not_supported, std::move(message), span, {}, {}, std::move(help)};
}

// Calls whose results have sizes that depend on values.
static Diagnostics sizes_of_values(const ir::Module& module) {
  Diagnostics out;
  std::set<std::pair<std::string, std::string>> seen;  // message, place
  for (const auto& [name, f] : module.functions)
    ir::visit(f, [&](const ir::Expr& e) {
      const ir::Call* call = ir::as<ir::Call>(e);
      const ir::Op* op = call ? ir::as<ir::Op>(call->callee) : nullptr;
      if (!op || !op->def || !op->def->part_of) return;
      const std::string message = format(
          "a C project has constant sizes, but that of the result of `{}` depends on values", op->def->part_of->name);
      if (seen.emplace(message, place_text(e->span)).second)
        out.push_back(not_in_c(message, e->span, "use an operator whose result has a constant size, such as `where`"));
    });
  return out;
}

// The same for arrays that code makes, by the operators that it knows.
static Diagnostics arrays_of_values(const runtime::Program& program) {
  Diagnostics out;
  for (const runtime::Function& f : program.functions)
    for (const runtime::Instruction& in : f.code) {
      if (in.op != runtime::Op::MakeTensor) continue;
      const std::string name = in.list.count > 0 ? format("`{}`", f.messages[f.lists[in.list.begin]]) : "an operator";
      out.push_back(
          not_in_c(format("a C project has constant sizes, but that of the result of {} depends on values", name), {},
                   "use an operator whose result has a constant size, such as `where`"));
    }
  return out;
}

// Inputs and outputs of a program with functions that C callers cannot make or use.
static Diagnostics ports_without_c(const runtime::Program& program) {
  Diagnostics out;
  auto check = [&](const char* what, const runtime::Port& port) {
    for (const auto& [mark, kind] : {std::pair{"fn ", "a function"}, {"Ref[", "a reference"}, {"ref(", "a reference"}})
      if (port.type.find(mark) != std::string::npos)
        out.push_back(not_in_c(format("{} `{}` of a C project contains {}: {}", what, port.name, kind, port.type), {},
                               "take and return tensors, tuples and values of data types"));
  };
  for (const runtime::Port& port : program.signature.inputs) check("input", port);
  for (const runtime::Port& port : program.signature.outputs) check("output", port);
  for (const runtime::Donation& d : program.donations)
    if (d.result)
      out.push_back(not_in_c(format("the input `{}` of a program with functions cannot be state of a C project",
                                    program.signature.inputs[d.input].name),
                             {}, "return the new value, and pass it to the next run"));
  return out;
}

static bool computes_in_floats(const loop::Kernel& kernel) {
  bool found = false;
  loop::visit(
      kernel.body, [](const loop::Stmt&) {},
      [&](const scalar::Expr& e) {
        found |= e->dtype.is_float() && (e->kind == scalar::Kind::Binary || e->kind == scalar::Kind::Unary);
      });
  return found;
}

static Status check_machine_code(const Compiled& compiled, const c_project::Options& options) {
  if (!options.machine_code) return ok();
  const TargetDesc& target = compiled.report.target;
  auto refused = [](std::string message, std::string help) {
    return Diagnostic{DiagnosticKind::bad_option, std::move(message), {}, {}, {}, std::move(help)};
  };
  if (starts_with(target.triple, "portable") || starts_with(target.triple, "wasm32") ||
      !codegen::device_kind(target).empty())
    return refused(format("--kernels object writes code of a processor, but the target is {}", target.name),
                   "name a processor with --target, such as cortex-a72, sve-256, rv64gcv or cortex-m55");
  // LLVM calls __mulsf3 there, and Arm's C libraries have __aeabi_fmul.
  if (!target::has_float_unit(target) && starts_with(target.triple, "thumb") &&
      std::ranges::any_of(compiled.built.kernels, computes_in_floats))
    return refused(format("--kernels object has no floats for {}, which has no float unit", target.name),
                   "write the kernels in C, which is the default, or quantise the network");
  if (options.library_math)
    return refused("--library-math applies to kernels in C", "leave out one of --library-math and --kernels object");
  return ok();
}

Status check_c_project(const Compiled& compiled, const c_project::Options& options) {
  RELAY_RETURN_IF_ERROR(check_machine_code(compiled, options));
  const runtime::Program& program = *compiled.built.program;
  Diagnostics errors;
  if (!program.is_graph()) {
    errors = sizes_of_values(compiled.module);
    if (errors.empty()) errors = arrays_of_values(program);
    for (Diagnostic& d : ports_without_c(program)) errors.push_back(std::move(d));
    if (options.weights_file)
      errors.push_back(
          not_in_c("the constants of a program with functions are C arrays", {}, "leave out --weights-file"));
    if (options.memory_limit > 0)
      errors.push_back(not_in_c("--memory-limit and --memory apply to networks without functions", {},
                                "give the memory for values with --arena"));
  }
  const std::vector<std::string> sizes = program.is_graph() ? program.graph().variables : program.signature.variables;
  for (const auto& [name, most] : options.most)
    if (std::find(sizes.begin(), sizes.end(), name) == sizes.end())
      return Diagnostic{
          DiagnosticKind::bad_option,
          format("--max names the size `{}`, which the inputs do not have", name),
          {},
          {},
          {},
          sizes.empty() ? "leave it out: all sizes are constant" : format("name one of {}", join(sizes, ", "))};
  for (Diagnostic& d : c_project::refusals(program, options)) errors.push_back(std::move(d));
  if (errors.empty()) return ok();
  return errors;
}

std::string note_on_floats(const Compiled& compiled) {
  if (target::has_float_unit(compiled.report.target)) return "";
  std::vector<std::string> names;
  for (const loop::Kernel& kernel : compiled.built.kernels)
    if (computes_in_floats(kernel)) names.push_back(kernel.name);
  if (names.empty()) return "";
  const size_t count = names.size(), shown = std::min<size_t>(count, 4);
  names.resize(shown);
  return format(
      "{} has no float unit: {} of {} kernels compute in floats, by functions of the C library, such as {}; relay "
      "quantize MODEL --keep-float never has integers in their place",
      compiled.report.target.name, count, compiled.built.kernels.size(), join(names, ", "));
}

// This machine, by default without multiply-adds: its results have the bits of C that does not contract. It has at
// least as many registers as the kernels were scheduled for; spilled ones only cost time.
static Result<TargetDesc> recorder(const TargetDesc& target, bool with_multiply_adds) {
  RELAY_ASSIGN(TargetDesc host, find_target("native"));
  host.has_fma = host.has_fma && with_multiply_adds;
  host.vector_registers = std::max({host.vector_registers, target.vector_registers, 64});
  return host;
}

Result<std::vector<runtime::Value>> recorded_inputs(const ir::Module& module, const std::vector<std::string>& texts,
                                                    const std::map<std::string, int64_t>& most) {
  RELAY_ASSIGN(const ir::Module typed, typing::infer(module));
  RELAY_ASSIGN(const std::vector<input::Port> ports, input::input_ports(typed));
  std::vector<std::string> shapes;
  for (const input::Port& port : ports) {
    const bool is_symbolic = std::any_of(port.dims.begin(), port.dims.end(), [](const std::string& d) {
      return d.find_first_not_of("0123456789") != std::string::npos;
    });
    const bool is_given = std::any_of(texts.begin(), texts.end(),
                                      [&](const std::string& text) { return starts_with(text, port.name + "="); });
    if (!port.is_tensor || !is_symbolic || is_given) continue;
    if (const std::optional<Shape> shape = port.shape(most))
      shapes.push_back(format("{}={}", port.name, join(*shape, ",")));
  }
  RELAY_ASSIGN(input::Inputs inputs, input::make_inputs(ports, {.inputs = texts, .shapes = shapes}, typed));
  return std::move(inputs.values);
}

// The value as the project's self-test makes or compares it.
static c_project::Recorded recorded(const runtime::Value& value, const runtime::Program& program) {
  c_project::Recorded out;
  if (value.is_tensor()) {
    out.tensor = value.tensor();
    return out;
  }
  if (value.kind() == runtime::ObjectKind::Data) {
    const std::string& name = runtime::data_type(value.type()).name;
    for (uint32_t t = 0; t < program.types.size(); ++t)
      if (program.types[t].name == name) out.type = t;
    out.tag = value.tag();
  }
  for (size_t i = 0; i < value.size(); ++i) out.fields.push_back(recorded(value.field(i), program));
  return out;
}

static void flatten(const runtime::Value& value, std::vector<runtime::Value>& out) {
  if (value.kind() != runtime::ObjectKind::Tuple) return out.push_back(value);
  for (size_t i = 0; i < value.size(); ++i) flatten(value.field(i), out);
}

static Status record_graph(runtime::Executable& executable, const std::vector<runtime::Value>& inputs,
                           c_project::Recording& recording) {
  RELAY_ASSIGN(recording.inputs, input::tensors_of(inputs));
  std::vector<Shape> shapes;
  for (const Tensor& t : recording.inputs) shapes.push_back(t.shape());
  RELAY_ASSIGN(recording.sizes, runtime::bind_variables(executable.program().graph(), shapes));
  RELAY_ASSIGN(recording.outputs, executable.run(recording.inputs));
  return ok();
}

// The self-test has statements for each object of a recorded value.
static Status check_recordable(std::span<const runtime::Value> values) {
  constexpr size_t most = 4096;
  std::vector<runtime::Value> pending(values.begin(), values.end());
  for (size_t count = 0; !pending.empty(); ++count) {
    const runtime::Value v = std::move(pending.back());
    pending.pop_back();
    if (!v.is_tensor())
      for (size_t i = 0; i < v.size(); ++i) pending.push_back(v.field(i));
    if (count < most) continue;
    return Diagnostic{DiagnosticKind::limit_exceeded,
                      format("the recorded run has a value of more than {} objects", most),
                      {},
                      {},
                      {},
                      "record a smaller one with --input"};
  }
  return ok();
}

// `needed`: by the recorded run.
static Status choose_arena(int64_t needed, c_project::Options& options) {
  if (options.arena_bytes == 0) {
    options.arena_bytes = needed, options.arena_bytes_are_measured = true;
    return ok();
  }
  if (options.arena_bytes >= needed) return ok();
  return Diagnostic{DiagnosticKind::out_of_memory,
                    format("the recorded run needs {} bytes for values and frames, but --arena gives {}", needed,
                           options.arena_bytes),
                    {},
                    {},
                    {},
                    "give a larger --arena, or record a smaller run with --input"};
}

static Status record_program(runtime::Executable& executable, const std::vector<runtime::Value>& inputs,
                             c_project::Recording& recording) {
  RELAY_RETURN_IF_ERROR(check_recordable(inputs));
  for (const runtime::Value& v : inputs) recording.arguments.push_back(recorded(v, executable.program()));
  RELAY_ASSIGN(const runtime::Value result, executable.call(inputs, {.inputs_are_lent = true}));
  RELAY_RETURN_IF_ERROR(check_recordable({&result, 1}));
  std::vector<runtime::Value> results;
  flatten(result, results);
  for (const runtime::Value& v : results) recording.results.push_back(recorded(v, executable.program()));
  return ok();
}

Result<Recorded> record(const Compiled& compiled, const std::vector<runtime::Value>& inputs, bool with_multiply_adds) {
  RELAY_ASSIGN(const TargetDesc host, recorder(compiled.report.target, with_multiply_adds));
  std::vector<loop::Kernel> kernels;  // as in C: the host need not have the instructions
  for (const loop::Kernel& kernel : compiled.built.kernels) kernels.push_back(codegen::without_dots(kernel));
  RELAY_ASSIGN(std::shared_ptr<codegen::KernelLibrary> library, codegen::jit(kernels, host, compiled.report.threads));
  Recorded out;
  runtime::Program in_c = *compiled.built.program;
  in_c.keeps_subnormals = true;  // as C does
  RELAY_ASSIGN(out.program,
               runtime::with_constants(std::make_shared<const runtime::Program>(std::move(in_c)), library.get()));
  runtime::Program lent = *out.program;
  lent.donations.clear();  // the recorded inputs are still needed
  RELAY_ASSIGN(const std::shared_ptr<runtime::Executable> executable,
               runtime::Executable::create(std::make_shared<const runtime::Program>(std::move(lent)), library,
                                           {.threads = compiled.report.threads}));
  const Status status = out.program->is_graph() ? record_graph(*executable, inputs, out.run)
                                                : record_program(*executable, inputs, out.run);
  if (!status) {
    Diagnostics errors = status.errors();
    errors[0].notes.push_back("the self-test records a run; --input NAME=VALUE gives it other inputs than random ones");
    return errors;
  }
  out.library = std::move(library);
  return out;
}

// The kernels that steps of the program call, as an object file.
static Result<std::string> kernels_as_object(const Compiled& compiled, const std::string& name) {
  std::set<uint32_t> used;
  for (const runtime::Segment& f : compiled.built.program->segments)
    for (const runtime::Step& step : f.steps)
      if (step.calls_kernel()) used.insert(step.kernel);
  std::vector<loop::Kernel> kernels;
  for (uint32_t k : used) {
    kernels.push_back(compiled.built.kernels[k]);
    kernels.back().name = c_project::object_name(name, kernels.back().name);
  }
  return compiled.backend->emit(kernels, nullptr, codegen::CodeForm::Object);
}

Result<CProject> c_project(const Compiled& compiled, std::vector<runtime::Value> inputs, c_project::Options options) {
  RELAY_RETURN_IF_ERROR(check_c_project(compiled, options));
  const TargetDesc& target = compiled.report.target;
  options.rounds_once =
      options.machine_code && target.has_fma && std::ranges::any_of(compiled.built.kernels, computes_in_floats);
  RELAY_ASSIGN(Recorded recorded, record(compiled, inputs, options.rounds_once));
  options.target = target.name, options.version = version;
  options.big_endian = starts_with(target.triple, "s390x") || starts_with(target.triple, "powerpc64-");
  options.keep_lanes = target.vector_bytes > 8;
  if (options.machine_code) {
    RELAY_ASSIGN(options.object, kernels_as_object(compiled, options.name));
  }
  if (!recorded.program->is_graph()) {
    RELAY_ASSIGN(const int64_t needed, rehearsed_arena_bytes(*recorded.program, recorded.library, inputs));
    RELAY_RETURN_IF_ERROR(choose_arena((needed + 63) / 64 * 64, options));
  }
  CProject out;
  out.recording = std::move(recorded.run);
  RELAY_ASSIGN(out.project, c_project::write(*recorded.program, compiled.built.kernels, out.recording, options));
  return out;
}

Status save(const std::map<std::string, std::string>& files, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return Diagnostic{DiagnosticKind::file_not_found,
                      format("cannot make the folder {}: {}", folder, error.message()),
                      {},
                      {},
                      {},
                      "give a folder that exists or can be made"};
  for (const auto& [name, text] : files)
    RELAY_RETURN_IF_ERROR(write_file((std::filesystem::path(folder) / name).string(), text));
  return ok();
}

}  // namespace relay::driver
