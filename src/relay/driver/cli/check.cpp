// relay check: reports all obstacles to importing and compiling a model at once, and its contents.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "relay/driver/cli/model_options.h"
#include "relay/driver/frontends.h"
#include "relay/driver/report.h"
#include "relay/driver/targets.h"
#include "relay/input/files.h"
#include "relay/ir/main_function.h"

namespace relay::cli {

namespace {
struct CheckOptions : ModelOptions {
  bool json = false;
};

struct Findings {
  std::vector<frontend::OperatorUse> operators;
  Diagnostics problems, warnings;
  bool has_main = true;           // a text without @main is a library: it is read and typed
  std::string stage = "compile";  // the stage of the problems: "import", "compile"
  size_t groups = 0, kernels = 0;
  std::vector<std::string> entry_checks;  // checks of inputs' sizes at the beginning of a run
};

// Only the type and size of larger constants are read.
constexpr int64_t largest_read = 64 << 10;
constexpr int exit_unsupported = 3;
}  // namespace

// "ok"; "unsupported": the model is valid, but Relay cannot run it; "malformed": it contradicts its format; "refused":
// for another reason, such as an option that does not fit, or a limit.
static const char* verdict(const Diagnostics& problems) {
  if (problems.empty()) return "ok";
  const bool ours = std::all_of(problems.begin(), problems.end(), [](const Diagnostic& d) {
    return d.kind == DiagnosticKind::unsupported_operator || d.kind == DiagnosticKind::not_supported;
  });
  if (ours) return "unsupported";
  for (const Diagnostic& d : problems)
    if (d.kind == DiagnosticKind::corrupt_file || d.kind == DiagnosticKind::bad_model) return "malformed";
  return "refused";
}

static std::vector<std::string> entry_checks(const runtime::Program& program) {
  std::vector<std::string> out;
  for (const runtime::Check& c : program.is_graph() ? program.graph().checks : program.signature.checks)
    out.push_back(c.message);
  return out;
}

// Import, then everything up to kernels (no machine code): the first stage with problems reports all of its own.
// `piped`: the model, if it came through a pipe.
static Result<Findings> find_problems(const CheckOptions& options, driver::ModelForm form,
                                      const std::optional<std::string>& piped) {
  Findings out;
  RELAY_ASSIGN(const driver::Options how, read_import_options(options.flags));
  RELAY_ASSIGN(const frontend::ImportLimits limits, frontend::import_limits(how.import.import_limits));
  std::optional<input::MemoryFile> content;
  if (piped) content.emplace(*piped);
  out.stage = "import";
  RELAY_RETURN_IF_ERROR(driver::check_layout(options.model, form, how.import.layout));
  Result<driver::Model> model = driver::Model();
  if (const driver::Frontend* frontend = driver::frontend_of(form)) {
    Result<frontend::CheckReport> report =
        frontend->check(options.model, {.shapes = how.import.shapes,
                                        .dims = {},
                                        .content = content ? content->path() : std::string(),
                                        .largest_read = largest_read,
                                        .limits = limits});
    if (report) out.operators = std::move(report->operators);
    out.problems = report ? std::move(report->problems) : report.errors();
    if (!out.problems.empty()) return out;
    model->module = std::move(report->model->module);
    model->output_names = std::move(report->model->output_names);
    model->warnings = std::move(report->model->warnings);
  } else {
    model = piped ? driver::load_model(options.model, *piped, how) : driver::load_model(options.model, how);
  }
  if (!model) {
    out.problems = model.errors();
    return out;
  }
  out.warnings = model->warnings;
  out.has_main = form != driver::ModelForm::Relay || model->module.functions.count(ir::main_function) != 0;
  if (form == driver::ModelForm::Artifact) out.entry_checks = entry_checks(model->executable->program());
  if (form == driver::ModelForm::Artifact || !out.has_main) return out;
  out.stage = "compile";
  RELAY_ASSIGN(driver::Options compilation, compile_options(options, model->output_names));
  compilation.run.make_executable = false;  // without machine code, which refuses nothing
  Result<driver::Compiled> compiled = driver::compile(model->module, compilation);
  if (!compiled) {
    out.problems = compiled.errors();
    return out;
  }
  out.entry_checks = entry_checks(*compiled->built.program);
  const driver::Counts counts = driver::counts_of(compiled->report);
  out.groups = static_cast<size_t>(counts.groups), out.kernels = static_cast<size_t>(counts.kernels);
  return out;
}

static void print_json(const CheckOptions& options, const Findings& found) {
  using Json = nlohmann::ordered_json;
  Json operators = Json::array();
  for (const frontend::OperatorUse& use : found.operators)
    operators.push_back({{"op", use.op},
                         {"opset", use.version},
                         {"count", use.count},
                         {"supported", use.has_converter},
                         {"first", use.first.node ? Json(*use.first.node) : Json()},
                         {"reason", use.reason},
                         {"remedy", use.remedy}});
  Json out = {{"model", options.model},
              {"ok", found.problems.empty()},
              {"verdict", verdict(found.problems)},
              {"failed_stage", found.problems.empty() ? Json() : Json(found.stage)},
              {"operators", operators},
              {"problems", Json::parse(driver::json(found.problems))},
              {"warnings", Json::parse(driver::json(found.warnings))},
              {"entry_checks", found.entry_checks},
              {"groups", found.groups},
              {"kernels", found.kernels}};
  std::cout << out.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

static void print_table(const Findings& found) {
  std::cout << format("{:<32} {:>6} {:>6}  {}\n", "operator", "opset", "count", "first node");
  for (const frontend::OperatorUse& use : found.operators) {
    print(format("{:<32} {:>6} {:>6}  {}", use.op, use.version, use.count, use.first.node ? *use.first.node : ""));
    if (!use.reason.empty()) print(format("  reason: {}", use.reason));
    if (!use.remedy.empty()) print(format("  remedy: {}", use.remedy));
  }
}

static Status check(const CheckOptions& options, int& failure) {
  std::optional<std::string> piped;
  if (input::is_pipe(options.model)) {
    RELAY_ASSIGN(piped, input::read_file(options.model));
  }
  RELAY_ASSIGN(driver::ModelForm form, piped ? driver::form_of(options.model, *piped) : driver::form_of(options.model));
  std::optional<Progress> progress(std::in_place, format("checking {}", options.model));
  RELAY_ASSIGN(Findings found, find_problems(options, form, piped));
  progress.reset();
  if (options.json) {
    print_json(options, found);
  } else if (!found.operators.empty()) {
    print_table(found);
  }
  if (!options.json)
    for (const std::string& check : found.entry_checks) print(format("checked at entry: {}", check));
  show(found.warnings);
  if (!found.problems.empty()) {
    if (std::string_view(verdict(found.problems)) == "unsupported") failure = exit_unsupported;
    print_message(format("{}: {} {}", options.model,
                         plural(static_cast<int64_t>(found.problems.size()), "problem", "problems"),
                         found.stage == "import" ? "with importing it" : "with compiling it"));
    return found.problems;
  }
  print_message(
      form == driver::ModelForm::Artifact ? format("{}: this artifact can be run here", options.model)
      : !found.has_main
          ? format("{}: well typed; without @main there is nothing to compile or run: name the function to run @main",
                   options.model)
          : format("{}: this {} can be compiled: {}, {}", options.model, name(form),
                   plural(static_cast<int64_t>(found.groups), "group", "groups"),
                   plural(static_cast<int64_t>(found.kernels), "kernel", "kernels")));
  return ok();
}

void add_check(CLI::App& app, SelectedVerb& selected) {
  CLI::App* verb =
      add_verb(app, "check", "Report every problem that keeps a model from being compiled",
               "  relay check model.onnx\n  relay check model.onnx --json | jq .problems\n"
               "Exit status: 0 if the model can be compiled, 3 if the model is valid but Relay does not\n"
               "support it (yet), 1 if the model is malformed or anything else is wrong. A text without @main is a\n"
               "library: it is read and typed, the last line says so, and the exit status is 0.");
  std::shared_ptr<CheckOptions> options = std::make_shared<CheckOptions>();
  add_model(*verb, *options, "ONNX or TFLite file, Relay program or artifact");
  add_compile_flags(*verb, options->flags);
  verb->add_flag("--json", options->json, "Print the findings as JSON");
  verb->callback(
      [options, &selected] { selected.run = [options, &selected] { return check(*options, selected.failure); }; });
}

}  // namespace relay::cli
