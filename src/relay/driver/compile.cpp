#include "relay/driver/compile.h"

#include <algorithm>

#include "relay/codegen/c/c_source.h"
#include "relay/codegen/llvm/llvm.h"
#include "relay/driver/batch_calls.h"
#include "relay/driver/files.h"
#include "relay/driver/measure.h"
#include "relay/driver/split_segments.h"
#include "relay/driver/targets.h"
#include "relay/exec/signature.h"
#include "relay/exec/sizes.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/runtime/artifact.h"
#include "relay/runtime/thread_pool.h"
#include "relay/runtime/topology.h"
#include "relay/text/text.h"
#include "relay/transform/dataflow.h"
#include "relay/typing/typing.h"

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

// Functions that partition_graph made.
static Status nothing_external(const ir::Module& module) {
  for (const auto& [name, f] : module.functions) {
    auto compiler = f->attrs.find("Compiler");
    if (compiler == f->attrs.end()) continue;
    std::string text;
    ir::AttrConvert<std::string>::from(compiler->second, &text);
    return Diagnostic{DiagnosticKind::not_supported,
                      format("@{} is for the compiler '{}', and nothing that it makes can be called here", name, text),
                      f->span,
                      {},
                      {},
                      "let inline_calls (relay.transform.Inline() in Python) put its body back"};
  }
  return ok();
}

Result<ir::Module> optimise(const ir::Module& module, const CompileOptions& options, CompileReport* report) {
  RELAY_RETURN_IF_ERROR(nothing_external(module));
  RELAY_RETURN_IF_ERROR(check_options(options));
  const Pipeline passes = options.is_optimised ? Pipeline{} : pipeline(options.opt_level);
  transform::PassContext context;
  context.options = passes.options;
  context.verify = options.verify;
  context.trace = [&](const transform::PassTrace& trace) {
    if (report) report->passes.push_back({trace.pass.name, trace.seconds * 1e3});
    if (options.trace) options.trace(trace);
  };
  double begin = now();
  RELAY_ASSIGN(ir::Module better, transform::run_passes(module, passes.passes, context));
  if (!options.more_passes.empty()) {
    RELAY_ASSIGN(better, transform::run_these(better, options.more_passes, context));
  }
  if (!report) return better;
  report->passes_ms = (now() - begin) * 1e3;
  for (const Diagnostic& warning : context.warnings.all()) report->notes.push_back(warning.message);
  return better;
}

static std::vector<std::string> names_of_outputs(const ir::Module& module, const CompileOptions& options) {
  if (!options.output_names.empty()) return options.output_names;
  if (ir::DictAttrs::const_iterator it = module.attrs.find("output_names"); it != module.attrs.end())
    if (const ir::Strings* given = std::get_if<ir::Strings>(&it->second)) return *given;
  return {};
}

// Results are named as the model names them; without names "output", or "output0" and on.
static void name_outputs(lower::LoweredFunction& lowered, const std::vector<std::string>& names) {
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

// Tensors of known sizes, or a tuple of such.
static bool is_known(const ir::Type& type) {
  if (const ir::TupleType* t = ir::as<ir::TupleType>(type))
    return std::all_of(t->fields.begin(), t->fields.end(), is_known);
  const ir::TensorType* t = ir::as<ir::TensorType>(type);
  return t && std::none_of(t->shape.begin(), t->shape.end(), scalar::is_any);
}

// What a graph can give: a tensor or several. (A tuple of one, and tuples in tuples, are made by code over values.)
static bool is_graph_result(const ir::Type& type) {
  const ir::TupleType* t = ir::as<ir::TupleType>(type);
  return is_known(type) &&
         (!t || (t->fields.size() > 1 && std::all_of(t->fields.begin(), t->fields.end(), [](const ir::Type& f) {
                   return ir::as<ir::TensorType>(f) != nullptr;
                 })));
}

// Kernel calls on tensors, and nothing else: one segment that the graph runner can run.
static bool is_graph(const ir::FunctionRef& main) {
  if (!is_graph_result(main->body->type)) return false;
  for (const ir::VarRef& p : main->params)
    if (!ir::as<ir::TensorType>(p->type) || !is_known(p->type)) return false;
  bool graph = true;
  transform::Dataflow flow(main->body);
  for (const ir::Expr& e : flow.nodes) {
    switch (e->kind) {
      case ir::ExprKind::Op: continue;
      case ir::ExprKind::Function: graph = graph && transform::is_closed(e); continue;
      case ir::ExprKind::Call: {
        const ir::Expr& callee = ir::as<ir::Call>(e)->callee;
        graph = graph && (callee->kind == ir::ExprKind::Op || callee->kind == ir::ExprKind::Function);
        break;
      }
      case ir::ExprKind::Constant:
      case ir::ExprKind::Var:
      case ir::ExprKind::Tuple:
      case ir::ExprKind::TupleGetItem: break;
      default: return false;
    }
    graph = graph && is_known(e->type);
  }
  return graph;
}

// @main as the one segment that it calls with its parameters; null when it does anything else.
static ir::FunctionRef as_segment(const ir::FunctionRef& main) {
  const ir::Call* call = ir::as<ir::Call>(main->body);
  const ir::Function* segment = call ? ir::as<ir::Function>(call->callee) : nullptr;
  if (!segment || segment->attrs.count("Segment") == 0 || !is_graph_result(segment->body->type)) return nullptr;
  std::vector<ir::VarRef> params;
  size_t used = 0;
  for (const ir::VarRef& p : main->params) {
    size_t i = 0;
    while (i < call->args.size() && call->args[i] != p) ++i;
    ir::VarRef inside = i < call->args.size() ? segment->params[i] : p;
    used += i < call->args.size();
    if (!is_known(inside->type)) return nullptr;
    params.push_back(ir::var(p->name, inside->type, p->span));
    params.back()->type = inside->type;
  }
  if (used != call->args.size()) return nullptr;
  ir::VarMap values;
  for (size_t i = 0; i < call->args.size(); ++i)
    for (size_t k = 0; k < params.size(); ++k)
      if (call->args[i] == main->params[k]) values[segment->params[i].get()] = params[k];
  return ir::function(std::move(params), ir::substitute(segment->body, values), segment->result_type, {}, {},
                      main->span);
}

static lower::LowerOptions lower_options(const CompileOptions& options, lower::Numerics numerics,
                                         lower::LowerNames* names) {
  TargetDesc machine = options.target;
  if (options.codegen_registers > 0) machine.vector_registers = options.codegen_registers;
  return {.target = options.target,
          .numerics = numerics,
          .schedules = options.schedules,
          .names = names,
          .check_code = [machine](const loop::Kernel& kernel) { return codegen::check(kernel, machine); },
          .strict = options.strict,
          .refused = options.refused_rules};
}

Entry entry_of(const ir::Module& module) {
  Entry out;
  std::map<std::string, ir::FunctionRef>::const_iterator main = module.functions.find("main");
  if (main == module.functions.end()) return out;
  for (const ir::VarRef& p : main->second->params) out.params.push_back(p->type);
  out.conditions = op::conditions_of(main->second->body);
  return out;
}

Result<runtime::Signature> entry_signature(const ir::Module& module) {
  std::vector<runtime::DataType> types;
  for (const auto& [name, def] : module.types) types.push_back({name, {}});
  const ir::FunctionRef& main = module.functions.at("main");
  return exec::signature(main, {}, types, op::conditions_of(main->body));
}

// The conditions over the variables of `main`, which are those of other nodes after the passes.
static std::vector<op::Condition> conditions_at(const Entry& entry, const ir::Function& main) {
  std::vector<ir::Dims> before, after;
  auto shape = [](const ir::Type& type) {
    const ir::TensorType* t = ir::as<ir::TensorType>(type);
    return t ? t->shape : ir::Dims{};
  };
  for (const ir::Type& t : entry.params) before.push_back(shape(t));
  for (const ir::VarRef& p : main.params) after.push_back(shape(p->type));
  std::vector<op::Condition> out;
  for (const op::Condition& c : entry.conditions) {
    std::vector<scalar::Binding> bindings;
    bool known = before.size() == after.size();
    for (const ir::Dim& v : scalar::free_vars(c.a - c.b)) {
      std::optional<runtime::VariableBinding> b = exec::find_binding(v, before);
      known = known && b && b->dim < after[b->input].size() && !scalar::is_any(after[b->input][b->dim]);
      if (known) bindings.push_back({v, scalar::simplify(floordiv(after[b->input][b->dim] - b->offset, b->factor))});
    }
    if (known) out.push_back(op::substitute({c}, bindings)[0]);
  }
  return out;
}

static Result<LoweredProgram> lower_graph(const ir::FunctionRef& main, const std::vector<std::string>& output_names,
                                          const Entry& entry, const CompileOptions& options) {
  LoweredProgram out;
  RELAY_ASSIGN(lower::Numerics numerics, find_numerics(options.numerics));
  lower::LowerOptions how = lower_options(options, numerics, nullptr);
  RELAY_ASSIGN(lower::LoweredFunction lowered, lower::lower(main, "main", how));
  name_outputs(lowered, output_names);
  op::Conditions all;
  all.add(conditions_at(entry, *main));
  all.add(lowered.conditions);
  lowered.conditions = all.list();
  out.segments.push_back({main, std::move(lowered)});
  return out;
}

Result<LoweredProgram> lower_program(const ir::Module& module, const Entry& entry, const CompileOptions& options) {
  std::map<std::string, ir::FunctionRef>::const_iterator main = module.functions.find("main");
  if (main == module.functions.end())
    return Diagnostic{DiagnosticKind::unknown_global,      "the module has no @main to compile", {}, {}, {},
                      "name the function to compile @main"};
  std::vector<std::string> output_names = names_of_outputs(module, options);
  if (is_graph(main->second)) return lower_graph(main->second, output_names, entry, options);

  LoweredProgram out;
  transform::PassContext context;
  context.verify = options.verify;
  context.trace = options.trace;
  RELAY_ASSIGN(out.module, transform::run_passes(module, program_passes(), context));
  if (ir::FunctionRef one = as_segment(out.module.functions.at("main")))
    return lower_graph(one, output_names, entry, options);
  out.graph = false;
  out.entry = conditions_at(entry, *out.module.functions.at("main"));
  lower::LowerNames names;
  RELAY_ASSIGN(lower::Numerics numerics, find_numerics(options.numerics));
  lower::LowerOptions how = lower_options(options, numerics, &names);
  RELAY_ASSIGN(out.module, split_segments(out.module, options.batch_calls, how));
  std::vector<ir::FunctionRef> segments;
  ir::NodeSet seen;
  auto collect = [&](const ir::FunctionRef& f) {
    ir::visit(f, [&](const ir::Expr& e) {
      const ir::Function* s = ir::as<ir::Function>(e);
      if (s && s->attrs.count("Segment") && seen.insert(s)) segments.push_back(ir::FunctionRef(s));
    });
  };
  collect(out.module.functions.at("main"));
  for (const auto& [name, f] : out.module.functions) collect(f);
  RELAY_ASSIGN(std::vector<BatchChoice> choices, choose_batching(out.module, segments, options.batch_calls, how));
  std::vector<lower::LoweredFunction> all;
  for (size_t i = 0; i < segments.size(); ++i) {
    std::string name = format("segment {}", i);
    how.calls = choices[i].batching == runtime::Batching::None ? scalar::Expr() : scalar::var("calls");
    RELAY_ASSIGN(lower::LoweredFunction lowered, lower::lower(segments[i], name, how));
    all.push_back(lowered);
    out.segments.push_back({segments[i], std::move(lowered), choices[i].batching});
    out.batching.push_back({name, choices[i].batching, choices[i].why});
  }
  RELAY_RETURN_IF_ERROR(lower::check_schedules(options.schedules, all));
  return out;
}

static runtime::ArtifactTarget artifact_target(const TargetDesc& target) {
  return {target.name, target.triple, target.cpu, target.features};
}

// Which kernels a run calls, and how often.
static void count_calls(const runtime::Program& program, std::span<const lower::LoweredFunction> lowered,
                        CompileReport& report) {
  std::unordered_map<std::string, std::vector<std::string>> nodes = nodes_by_kernel(lowered);
  for (const runtime::KernelEntry& kernel : program.kernels)
    report.kernels.push_back({kernel.name, 0, std::move(nodes[kernel.name])});
  for (const runtime::Segment& segment : program.segments)
    for (const runtime::Step& step : segment.steps)
      if (step.kind == runtime::Step::Kind::Kernel) ++report.kernels[step.kernel].calls;
}

Status check_runs_here(const TargetDesc& target) { return runtime::check_machine(artifact_target(target)); }

static Result<exec::BuildOptions> build_options(const CompileOptions& options) {
  exec::BuildOptions build{.target = options.target,
                           .threads = options.threads,
                           .executor = options.executor,
                           .memory_limit = options.memory_limit};
  Status runs_here = check_runs_here(options.target);
  if (runs_here) return build;
  if (options.run_here) return runs_here.errors();
  RELAY_ASSIGN(build.host, find_target("native"));
  return build;
}

Result<exec::Built> build_program(const LoweredProgram& lowered, const ir::Module& module,
                                  const CompileOptions& options) {
  RELAY_ASSIGN(exec::BuildOptions build, build_options(options));
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

Result<Compiled> compile(const ir::Module& module, const CompileOptions& options) {
  RELAY_RETURN_IF_ERROR(runtime::check_thread_setting());
  RELAY_RETURN_IF_ERROR(runtime::check_threads(options.threads));
  Compiled out;
  CompileReport& report = out.report;
  report.target = options.target;
  report.opt_level = options.opt_level;
  report.numerics = options.numerics;
  report.threads = options.threads > 0 ? options.threads : runtime::ThreadPool::global().size();

  report.model_bytes = bytes_of_constants(module);

  // Relay to Relay.
  RELAY_ASSIGN(ir::Module typed, typing::infer(module));
  const Entry entry = entry_of(typed);
  Provenance nodes(typed);
  CompileOptions traced = options;
  traced.trace = [&](const transform::PassTrace& trace) {
    nodes.see(trace.pass.name, trace.after);
    if (options.trace) options.trace(trace);
  };
  RELAY_ASSIGN(out.module, optimise(typed, traced, &report));

  // Groups to loops.
  double begin = now();
  RELAY_ASSIGN(LoweredProgram lowered, lower_program(out.module, entry, traced));
  report.lower_ms = (now() - begin) * 1e3;
  for (const exec::LoweredSegment& s : lowered.segments) {
    for (const lower::Group& group : s.lowered.groups)
      report.groups.push_back({group.name, group.rule, group.flops, options.schedules.count(group.name) > 0,
                               group.algorithm ? std::string(lower::name(*group.algorithm)) : "",
                               group.gain.saved_ns * 1e-6, group.gain.added_bytes});
    for (const lower::Refusal& refusal : s.lowered.refusals) report.refusals.push_back(lower::str(refusal));
    out.lowered.push_back(s.lowered);
  }
  report.batching = lowered.batching;
  report.nodes = nodes.report(out.lowered);

  // Work on constants, done now.
  RELAY_ASSIGN(out.built, build_program(lowered, out.module, options));
  report.functions = static_cast<int64_t>(out.built.program->functions.size());
  report.segments = static_cast<int64_t>(out.built.program->segments.size());
  report.constant_ms = out.built.constant_ms;
  report.constant_steps = out.built.constant_steps;
  report.constant_bytes = out.built.constant_bytes, report.prepared_bytes = out.built.prepared_bytes;
  count_calls(*out.built.program, out.lowered, report);

  report.executor = lowered.graph ? runtime::Executor::Graph : options.executor.value_or(runtime::Executor::Vm);
  if (options.run_here) RELAY_RETURN_IF_ERROR(make_executable(out, options));
  return out;
}

// Loops to machine code.
Status make_executable(Compiled& compiled, const CompileOptions& options) {
  double begin = now();
  RELAY_ASSIGN(exec::BuildOptions build, build_options(options));
  RELAY_ASSIGN(compiled.executable, exec::build(compiled.built, build));
  compiled.report.codegen_ms = (now() - begin) * 1e3;
  compiled.report.executor = compiled.executable->executor();
  return ok();
}

// @main with its parameters and nothing to do, what its attributes say of strings, and the data types: what an artifact
// says of its inputs.
static std::string interface_text(const ir::Module& module) {
  ir::Module out;
  out.types = module.types;
  std::vector<ir::VarRef> params;
  for (const ir::VarRef& p : module.functions.at("main")->params)
    params.push_back(ir::var(p->name, p->type ? p->type : p->annotation));
  ir::DictAttrs strings;
  for (const auto& [name, value] : module.functions.at("main")->attrs)
    if (name == "strings" || name == "string_inputs" || name == "string_outputs") strings[name] = value;
  out.functions["main"] = ir::function(std::move(params), ir::tuple({}), {}, {}, std::move(strings));
  return text::str(out);
}

Status save(const Compiled& compiled, FileForm form, const std::string& path) {
  const TargetDesc& target = compiled.report.target;
  if (form == FileForm::Artifact)
    return exec::save(
        compiled.built, {.target = target, .threads = compiled.report.threads, .executor = compiled.report.executor},
        {{report_note, json(compiled.report, false)}, {interface_note, interface_text(compiled.module)}}, path);
  if (form == FileForm::CSource) return write_file(path, codegen::c_source(compiled.built.kernels));
  RELAY_ASSIGN(std::string bytes, form == FileForm::Object ? codegen::object_file(compiled.built.kernels, target)
                                                           : codegen::shared_library(compiled.built.kernels, target));
  return write_file(path, bytes);
}

}  // namespace relay::driver
