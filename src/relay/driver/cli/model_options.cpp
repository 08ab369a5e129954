#include "relay/driver/cli/model_options.h"

#include <charconv>

#include "relay/driver/stages.h"
#include "relay/driver/targets.h"
#include "relay/input/files.h"
#include "relay/measure/calibration.h"

namespace relay::cli {

void add_model(CLI::App& verb, ModelOptions& options, const char* what) {
  verb.add_option("MODEL", options.model, what)->required();
  verb.add_option("--shape", options.shapes, "Shape of an input: NAME=1,3,224,224 (repeat for more)")
      ->type_name("NAME=DIMS");
  verb.add_option("--import-limit", options.import_limits,
                  "Limit of the import of an ONNX file: calls, nodes or constants (bytes); "
                  "docs/security.md lists the defaults")
      ->type_name("NAME=N");
}

void add_compile_options(CLI::App& verb, ModelOptions& options) {
  verb.add_option("--target", options.target,
                  "Processor, with features to add or leave out: native, zen4, native,-avx512f, "
                  "neoverse-n1, rv64gcv")
      ->capture_default_str();
  verb.add_option("--threads", options.threads, "Number of threads; 0: all cores that this process may use")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024));
  verb.add_option("-O,--opt-level", options.opt_level,
                  "0: as written, 1: fused, 2: rewritten, 3: rewritten with more compile time")
      ->capture_default_str()
      ->check(CLI::Range(0, driver::max_opt_level));
  verb.add_option("--mode", options.mode,
                  "Meaning of batch_norm and dropout: inference, or training (statistics and masks of the batch)")
      ->capture_default_str();
  verb.add_option("--numerics", options.numerics, "Arithmetic class: fp32, or fast (no check for infinities and NaN)")
      ->capture_default_str();
  verb.add_option("--schedule", options.schedules,
                  "Schedule for a group, which is a name or a number, or without GROUP= for all groups: a file as "
                  "`relay opt --emit schedule` prints it (repeat for more)")
      ->type_name("[GROUP=]FILE");
  verb.add_option("--external", options.external,
                  "Compiler that takes parts of the program first: dnnl, which is oneDNN")
      ->type_name("COMPILER");
  verb.add_flag("--no-batch-calls", options.no_batch_calls,
                "Run each call of a segment by itself, instead of several calls at once");
  verb.add_flag("--strict", options.strict, "Fail if a schedule rule fails, instead of using a slower schedule");
}

std::vector<std::string> given_compile_options(const CLI::App& verb) {
  std::vector<std::string> given;
  for (const char* name : {"--target", "--opt-level", "--mode", "--numerics", "--schedule", "--external",
                           "--no-batch-calls", "--strict", "--import-limit"})
    if (verb.get_option(name)->count() > 0) given.emplace_back(name);
  return given;
}

Status refuse_for_artifact(const std::string& model, const std::vector<std::string>& given,
                           std::optional<driver::ModelForm> form) {
  if (given.empty() || (!form && input::is_pipe(model))) return ok();
  if (!form) {
    RELAY_ASSIGN(form, driver::form_of(model));
  }
  if (form != driver::ModelForm::Artifact) return ok();
  return Diagnostic{DiagnosticKind::bad_option,
                    format("{} is compiled already: {} would have no effect", model, join(given, ", ")),
                    {},
                    {},
                    {},
                    "give the option where the model is compiled: relay compile MODEL -o FILE.rart"};
}

Result<std::map<std::string, int64_t>> import_limits(const ModelOptions& options) {
  std::map<std::string, int64_t> out;
  for (const std::string& text : options.import_limits) {
    const size_t equals = text.find('=');
    int64_t value = 0;
    const char *begin = text.data() + (equals == text.npos ? text.size() : equals + 1),
               *end = text.data() + text.size();
    const auto [at, error] = std::from_chars(begin, end, value);
    if (begin == end || at != end || error != std::errc())
      return Diagnostic{DiagnosticKind::bad_option,   format("--import-limit '{}' is not NAME=N", text), {}, {}, {},
                        "write such as calls=4000000"};
    out[text.substr(0, equals)] = value;
  }
  return out;
}

Result<driver::LoadOptions> load_options(const ModelOptions& options, std::optional<runtime::Executor> executor) {
  driver::LoadOptions load;
  for (const std::string& text : options.shapes) {
    RELAY_ASSIGN(input::NamedShape shape, input::parse_named_shape(text));
    if (!load.shapes.emplace(shape.name, shape.shape).second)
      return Diagnostic{
          DiagnosticKind::bad_option,        format("the shape of input `{}` is given twice", shape.name), {}, {}, {},
          "give --shape once for each input"};
  }
  RELAY_ASSIGN(load.import_limits, import_limits(options));
  load.run = {.threads = options.threads, .executor = executor};
  return load;
}

Result<driver::Model> load(const ModelOptions& options, std::optional<runtime::Executor> executor) {
  RELAY_ASSIGN(driver::LoadOptions load, load_options(options, executor));
  RELAY_ASSIGN(driver::Model model, driver::load_model(options.model, load));
  show(model.warnings);
  return model;
}

// Reports why native has its described figures although there is a calibration. Artifacts are not compiled, so they
// have none.
static void print_ignored_calibration(const ModelOptions& options, const TargetDesc& target) {
  if (!driver::is_native(options.target)) return;
  const std::string reason = measure::saved_calibration(target).ignored;
  if (reason.empty()) return;
  if (const auto form = driver::form_of(options.model); form && *form == driver::ModelForm::Artifact) return;
  print_message(format("the calibration {} is not used: it {}; `relay doctor --calibrate` makes a new one",
                       *measure::calibration_file(), reason));
}

Result<driver::CompileOptions> compile_options(const ModelOptions& options,
                                               const std::vector<std::string>& output_names) {
  driver::CompileOptions out;
  RELAY_ASSIGN(out.target, driver::find_target(options.target));
  print_ignored_calibration(options, out.target);
  out.threads = options.threads;
  RELAY_ASSIGN(out.numerics, driver::find_numerics(options.numerics));
  out.opt_level = options.opt_level;
  RELAY_ASSIGN(out.mode, driver::find_mode(options.mode));
  out.output_names = output_names;
  out.strict = options.strict;
  out.external = options.external;
  if (options.no_batch_calls) out.batch_calls = build::BatchCalls::Never;
  for (const std::string& text : options.schedules) {
    const size_t equals = text.find('=');
    RELAY_ASSIGN(std::string schedule, input::read_file(equals == text.npos ? text : text.substr(equals + 1)));
    if (equals != text.npos) {
      out.schedules[text.substr(0, equals)] = std::move(schedule);
      continue;
    }
    RELAY_ASSIGN(const auto all, driver::schedules_of(schedule));
    out.schedules.insert(all.begin(), all.end());
  }
  return out;
}

std::string summary(const driver::CompileReport& report) {
  const auto [groups, kernels, calls] = driver::counts_of(report);
  std::string where =
      format("on {}{}, {}", driver::short_description(report.target),
             measure::is_calibrated(report.target) ? ", calibrated" : "", plural(report.threads, "thread", "threads"));
  if (!report.refusals.empty())
    where += format(", {} slower than it could be (see above)", plural(report.refusals.size(), "group", "groups"));
  if (report.functions == 0)
    return format("{}, {} ({}) {}", plural(groups, "group", "groups"), plural(kernels, "kernel", "kernels"),
                  plural(calls, "call a run", "calls a run"), where);
  return format("{}, {}, {}, {} {}", plural(report.functions, "function", "functions"),
                plural(report.segments, "segment", "segments"), plural(groups, "group", "groups"),
                plural(kernels, "kernel", "kernels"), where);
}

const char* in_words(runtime::Executor executor) {
  switch (executor) {
    case runtime::Executor::Graph: return "graph executor";
    case runtime::Executor::Vm: return "virtual machine";
    case runtime::Executor::Aot: return "aot executor";
  }
  return "";
}

void print_notes(const driver::CompileReport& report) {
  for (const std::string& note : report.notes) print_message(note);
  for (const std::string& refusal : report.refusals) print_message(refusal);
  if (report.constant_steps > 0)
    print_message(format("{} on weights only: done once, when the program was built",
                         plural(report.constant_steps, "kernel call", "kernel calls")));
}

}  // namespace relay::cli
