// relay opt: prints the program after passes, or any stage below it, as text that can be read, changed and used as
// input.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "relay/base/bytes.h"
#include "relay/codegen/llvm/llvm.h"
#include "relay/driver/cli/model_options.h"
#include "relay/driver/cli/outputs.h"
#include "relay/driver/cli/pass_log.h"
#include "relay/driver/cli/plan_log.h"
#include "relay/driver/pass_options.h"
#include "relay/driver/stages.h"
#include "relay/driver/tuning.h"
#include "relay/input/files.h"
#include "relay/text/text.h"
#include "relay/typing/typing.h"

namespace relay::cli {

namespace {
struct OptOptions : ModelOptions {
  std::string passes, emit = "relay", kernel, output, trace;
  std::vector<std::string> pass_options;  // fuse_ops.max_group=8
  bool has_passes = false, list_passes = false, functions = false, types = false, each = false, inline_weights = false;
  bool diff = false, timings = false;
  bool shows_passes() const { return each || diff || timings || !trace.empty(); }
};
}  // namespace

// " (256)"; empty for texts.
static std::string usual_value(const transform::OptionInfo& option) {
  if (option.type == transform::OptionInfo::Text) return "";
  return format(" ({})", ir::str(option.otherwise));
}

static Status list_passes() {
  for (const transform::PassInfo& pass : transform::all_passes())
    std::cout << format("{:<30} {}\n", pass.name, pass.doc);
  std::cout << "\nOptions, as --pass-option NAME=VALUE:\n";
  for (const transform::OptionInfo& option : transform::all_options())
    std::cout << format("{:<45} {}{}\n", option.name, option.doc, usual_value(option));
  for (int level = 0; level <= driver::max_opt_level; ++level)
    std::cout << format("{}-O{}: {}\n", level ? "" : "\n", level, join(driver::pipeline(level).passes, ","));
  return ok();
}

// The program in the log of passes: it can only be read back with --inline-weights.
static std::string logged_text(const ir::Module& module, const OptOptions& options) {
  if (options.inline_weights) return text::str(module, {.types = options.types});
  NamedTensors left_out;
  return text::str(module, {.version = false, .types = options.types, .weights = &left_out});
}

// The program as text. Large weights are not printed on a terminal, but are written to a file or a pipe, so that the
// text can be read back.
static std::string module_text(const ir::Module& module, const OptOptions& options) {
  NamedTensors left_out;
  bool whole = options.inline_weights || isatty(STDOUT_FILENO) == 0;
  std::string text =
      text::str(module, {.types = options.types, .weights = whole ? nullptr : &left_out, .weights_file = {}});
  if (!left_out.empty()) {
    size_t bytes = 0;
    for (const auto& [name, tensor] : left_out) bytes += tensor.bytes();
    print_message(format("the values of {} ({}) are left out of this text; -o FILE writes them to a file next to it",
                         plural(static_cast<int64_t>(left_out.size()), "constant", "constants"), bytes_text(bytes)));
  }
  return text;
}

// Each option must belong to a pass that runs; fold_scale_axis has those of its two halves.
static Status read_pass_options(const OptOptions& options, const std::vector<std::string>& passes,
                                transform::PassContext* context) {
  for (const std::string& text : options.pass_options) {
    RELAY_ASSIGN(auto option, transform::parse_option(text));
    const std::string pass = option.first.substr(0, option.first.find('.'));
    if (std::none_of(passes.begin(), passes.end(), [&](const std::string& one) { return pass.ends_with(one); }))
      return Diagnostic{DiagnosticKind::bad_option,
                        format("{} has no effect: {} is not among the passes", option.first, pass),
                        {},
                        {},
                        {},
                        format("name the pass: --passes {}", pass)};
    context->options[option.first] = option.second;
  }
  return ok();
}

static Result<ir::Module> transformed(const OptOptions& options, ir::Module module, const driver::Options& compilation,
                                      driver::CompileReport& report) {
  if (!options.has_passes) {
    RELAY_ASSIGN(module, driver::before_passes(module, compilation, report.notes));
  }
  if (!options.has_passes && options.pass_options.empty()) return driver::optimise(module, compilation, &report);
  transform::PassContext context;
  std::vector<std::string> names;
  if (!options.has_passes) {
    names = driver::pipeline_of(compilation.passes).passes, context.options = driver::pass_options(compilation);
  } else if (!trim(options.passes).empty()) {  // else empty
    for (std::string_view name : split(options.passes, ',')) names.emplace_back(trim(name));
  }
  RELAY_RETURN_IF_ERROR(read_pass_options(options, names, &context));
  context.verify = true;
  context.trace = [&](const transform::PassTrace& trace) {
    report.passes.push_back({trace.pass.name, trace.seconds * 1e3});
    report.passes_ms += trace.seconds * 1e3;
    if (compilation.passes.trace) compilation.passes.trace(trace);
  };
  RELAY_ASSIGN(ir::Module out, transform::run_passes(module, names, context));
  for (const Diagnostic& warning : context.warnings.all()) report.notes.push_back(warning.message);
  return out;
}

static Result<driver::Stage> stage_of(const std::string& emit) {
  if (emit == "te") return driver::Stage::Te;
  if (emit == "schedule") return driver::Stage::Schedule;
  if (emit == "loop") return driver::Stage::Loop;
  if (emit == "c") return driver::Stage::C;
  if (emit == "llvm") return driver::Stage::Llvm;
  if (emit == "ptx") return driver::Stage::Ptx;
  return driver::Stage::Assembly;
}

static std::vector<std::string> emit_names() {
  std::vector<std::string> names{"relay", "plan", "te",  "schedule", "candidates", "loop",
                                 "c",     "llvm", "asm", "ptx",      "program",    "nodes"};
  for (const std::string& step : PlanLog::steps()) names.push_back("plan:" + step);
  return names;
}

// The program form of runtime/program/program.h, or the machine code of its functions.
static Result<std::string> program_text(const OptOptions& options, const build::LoweredProgram& lowered,
                                        const ir::Module& module, driver::Options compilation) {
  compilation.run.make_executable = false;
  RELAY_ASSIGN(exec::Built built, driver::build_program(lowered, module, compilation));
  if (options.emit == "program") {
    std::string text = runtime::str(*built.program);
    for (const build::SegmentReport& s : lowered.batching)
      text +=
          format("# {}: {}: {}\n", s.name, s.batching == runtime::Batching::None ? "not batched" : "batched", s.reason);
    return text;
  }
  if (lowered.graph)
    return Diagnostic{DiagnosticKind::bad_option, "the program is one segment and has no functions", {}, {}, {},
                      "leave out --functions"};
  return options.emit == "llvm" ? codegen::llvm_text(*built.program, compilation.lower.target)
                                : codegen::assembly_text(*built.program, compilation.lower.target);
}

static std::string nodes_text(const std::vector<build::NodeReport>& nodes) {
  std::string out;
  for (const build::NodeReport& n : nodes) {
    std::string where = format("{}", join(n.kernels, ", "));
    if (where.empty())
      where = n.constant             ? "computed once, when the program is built"
              : n.removed_by.empty() ? "no kernel: its operands are computed in the memory of its result"
              : n.reason.empty()     ? format("removed by {}", n.removed_by)
                                     : format("removed by the importer: {}", n.reason);
    out += format("{:<40} {}\n", n.node, where);
  }
  return out;
}

static Status write_text(const OptOptions& options, const std::string& text) {
  if (options.output.empty() || options.output == "-") {
    std::cout << text;
    return ok();
  }
  return write_file(options.output, text);
}

// The text of any stage below Relay, except for the plan.
static Result<std::string> lowered_text(const OptOptions& options, const build::LoweredProgram& program,
                                        const ir::Module& module, const driver::Options& compilation,
                                        const build::Provenance& nodes) {
  if (options.functions || options.emit == "program") return program_text(options, program, module, compilation);
  std::vector<lower::LoweredFunction> lowered;
  for (const exec::LoweredSegment& segment : program.segments) lowered.push_back(segment.lowered);
  if (options.emit == "candidates") return driver::candidates_text(lowered);
  if (options.emit == "nodes") return nodes_text(nodes.report(lowered));
  RELAY_ASSIGN(driver::Stage stage, stage_of(options.emit));
  return driver::stage_text(lowered, compilation.lower.target, stage, options.kernel);
}

static Status opt(const OptOptions& options) {
  if (options.list_passes) return list_passes();
  if (options.functions && options.emit != "llvm" && options.emit != "asm")
    return Diagnostic{DiagnosticKind::bad_option,
                      format("--functions is not for --emit {}", options.emit),
                      {},
                      {},
                      {},
                      "functions are compiled by --emit llvm and --emit asm"};
  if (options.model.empty())
    return Diagnostic{DiagnosticKind::bad_option, "MODEL is required", {}, {}, {}, "relay opt --help"};
  if (!options.output.empty() && options.output != "-") RELAY_RETURN_IF_ERROR(check_output_file(options.output));
  RELAY_ASSIGN(driver::Model model, load(options));
  if (model.form == driver::ModelForm::Artifact)
    return Diagnostic{DiagnosticKind::bad_option, "an artifact does not contain the Relay program", {}, {}, {},
                      "give the original model"};
  if (!options.output.empty() && options.output != "-") {
    RELAY_RETURN_IF_ERROR(input::check_output(options.output, model.files));
    if (options.emit == "relay" && !options.inline_weights)
      RELAY_RETURN_IF_ERROR(input::check_output(
          std::filesystem::path(options.output).replace_extension(".safetensors").string(), model.files));
  }
  RELAY_ASSIGN(driver::Options compilation, compile_options(options, model.output_names));
  PassLog log({options.trace, options.diff, options.each},
              [&](const ir::Module& m) { return logged_text(m, options); });
  if (options.shows_passes()) RELAY_RETURN_IF_ERROR(log.begin(model.module));
  build::Provenance nodes(model.module);
  auto see_nodes = [&](const transform::PassTrace& trace) { nodes.see(trace.pass.name, trace.after); };
  compilation.passes.trace = [&](const transform::PassTrace& trace) {
    if (options.shows_passes()) log.add(trace);
    see_nodes(trace);
  };
  driver::CompileReport report;
  RELAY_ASSIGN(ir::Module module, transformed(options, model.module, compilation, report));
  if (options.shows_passes()) RELAY_RETURN_IF_ERROR(log.end());
  compilation.passes.trace = see_nodes;
  if (options.timings) std::cout << log.table();
  if (!options.trace.empty())
    print_message(format("wrote the program after each pass that changed it to {}", options.trace));
  for (const std::string& note : report.notes) print_message(note);

  std::vector<std::string> passes;
  for (const driver::PassReport& pass : report.passes)
    passes.push_back(format("{} {}", pass.name, milliseconds(pass.ms)));
  std::string story =
      format("read {}; passes: {}", milliseconds(model.ms), passes.empty() ? "none" : format("{}", join(passes, ", ")));
  if (options.emit == "relay") {
    if (!options.output.empty() && options.output != "-") {
      RELAY_RETURN_IF_ERROR(text::save(module, options.output, options.inline_weights));
    } else if (!options.shows_passes()) {
      std::cout << module_text(module, options);
    }
    print_message(story);
    return ok();
  }
  const bool shows_plan = starts_with(options.emit, "plan");
  PlanLog plan(options.emit);
  if (shows_plan) compilation.lower.trace_plan = [&](const lower::PlanTrace& trace) { plan.add(trace); };
  RELAY_ASSIGN(ir::Module typed, typing::infer(model.module));
  const build::Entry entry = build::entry_of(typed);
  RELAY_ASSIGN(build::LoweredProgram program, driver::lower_program(module, entry, compilation));
  size_t groups = 0, kernels = 0;
  for (const exec::LoweredSegment& segment : program.segments) {
    for (const lower::Refusal& refusal : segment.lowered.refusals) print_message(lower::str(refusal));
    groups += segment.lowered.groups.size(), kernels += segment.lowered.kernels.size();
  }
  if (shows_plan && options.timings) std::cout << plan.table();
  std::string text = plan.text();
  if (!shows_plan) {
    RELAY_ASSIGN(text, lowered_text(options, program, module, compilation, nodes));
  }
  RELAY_RETURN_IF_ERROR(write_text(options, text));
  print_message(format("{}; {}, {}", story, plural(static_cast<int64_t>(groups), "group", "groups"),
                       plural(static_cast<int64_t>(kernels), "kernel", "kernels")));
  return ok();
}

void add_opt(CLI::App& app, SelectedVerb& selected) {
  CLI::App* verb = add_verb(
      app, "opt", "Run passes, and print the program or any stage below it",
      "  relay opt model.onnx                                    the program that is lowered\n"
      "  relay opt model.relay --passes infer_type,fold_constant\n"
      "  relay opt model.relay --pass-option fuse_ops.max_group=8\n"
      "  relay opt model.onnx --timings                          a line for each pass: time, nodes, changes\n"
      "  relay opt model.onnx --diff --trace steps/              the changes of each pass, as lines and as files\n"
      "  relay opt model.onnx --emit schedule                    the schedule of every group\n"
      "  relay opt model.onnx --emit plan                        the plan of arrays and groups, after each of its "
      "steps\n"
      "  relay opt model.onnx --emit candidates                  schedules that the rules considered, with estimates\n"
      "  relay opt model.onnx --emit nodes                       which kernels compute each node\n"
      "  relay opt model.onnx --emit schedule --kernel 3 -o mine.txt     then, after editing it:\n"
      "  relay run model.onnx --schedule GROUP=mine.txt\n"
      "  relay opt model.onnx --emit c --kernel 3                a kernel as C99\n"
      "  relay opt tree.relay --emit program                     segments, and functions as code over values\n"
      "  relay opt tree.relay --emit llvm --functions            functions as `relay compile --aot` compiles them\n"
      "  relay opt --list-passes");
  std::shared_ptr<OptOptions> options = std::make_shared<OptOptions>();
  add_model(*verb, *options);
  verb->get_option("MODEL")->required(false);
  add_compile_flags(*verb, options->flags);
  CLI::Option* passes =
      verb->add_option("--passes", options->passes, "Passes to run, in this order, instead of those of -O")
          ->type_name("A,B,C");
  verb->add_option("--pass-option", options->pass_options,
                   "Option of a pass, such as fuse_ops.max_group=8 (repeat for more); --list-passes lists them")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  verb->add_option("--emit", options->emit,
                   "relay, te, schedule, loop, c, llvm or asm; plan or plan:STEP: groups and arrays after the steps of "
                   "planning; candidates: the schedules that rules considered for each group, with their estimated "
                   "time on one core; program: segments, and functions as code over values; "
                   "nodes: which kernels compute each node of the model, or which pass removed it")
      ->capture_default_str()
      ->type_name("STAGE")
      ->check(CLI::IsMember(emit_names()).description(""));
  verb->add_flag("--functions", options->functions,
                 "With --emit llvm or asm, print the functions as --aot compiles them, instead of kernels");
  verb->add_option("--kernel", options->kernel, "Name or number of one group or kernel (default: all)")
      ->type_name("NAME|NUMBER");
  verb->add_option("-o,--output", options->output,
                   "File to write; large weights of --emit relay go to FILE.safetensors next to it")
      ->type_name("FILE");
  verb->add_flag("--list-passes", options->list_passes,
                 "List the passes, their options, and the passes of each -O level");
  verb->add_flag("--types", options->types, "Print the type of every expression");
  verb->add_flag("--each", options->each, "Print the program after every pass");
  verb->add_flag("--diff", options->diff, "Print the lines that each pass changed");
  verb->add_flag("--timings", options->timings, "Print a line for each pass: its time, the nodes, its changes");
  verb->add_option("--trace", options->trace,
                   "Write the program after each pass that changed it to this folder, and index.txt")
      ->type_name("FOLDER");
  verb->add_flag("--inline-weights", options->inline_weights,
                 "Write all weights into the text, for example for a pipe");
  verb->callback([options, passes, &selected] {
    options->has_passes = passes->count() > 0;
    selected.run = [options] { return opt(*options); };
  });
}

}  // namespace relay::cli
