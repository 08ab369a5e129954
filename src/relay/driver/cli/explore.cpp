// relay explore: writes a compilation as a page to look at (driver/explorer.h), or as JSON (docs/compilation-json.md).
#include <filesystem>

#include "relay/base/bytes.h"
#include "relay/base/output_file.h"
#include "relay/driver/cli/model_options.h"
#include "relay/driver/cli/outputs.h"
#include "relay/driver/explorer.h"
#include "relay/input/files.h"
#include "relay/measure/measure.h"

namespace relay::cli {

namespace {
struct ExploreOptions : ModelOptions {
  std::string output, other;
  std::vector<std::string> inputs;
  bool profile = false, verify = false, no_texts = false;
  double seconds = 1;
};

// A compilation with what was recorded of it.
struct Explored {
  driver::Model model;
  driver::Recording recording;
  driver::Compiled compiled;
};
}  // namespace

// The inputs of the runs that --profile and --verify make.
static Result<std::vector<runtime::Value>> inputs_of(const Explored& explored, const ExploreOptions& options) {
  RELAY_ASSIGN(input::Inputs inputs, input::make_inputs(input::input_ports(*explored.compiled.executable),
                                                        {options.inputs, options.shapes()}, explored.model.types()));
  for (const std::string& note : inputs.notes) print_message(note);
  return std::move(inputs.values);
}

static Result<measure::Profile> profile_of(const Explored& explored, const std::vector<runtime::Value>& inputs,
                                           const ExploreOptions& options, const TargetDesc& target) {
  RELAY_ASSIGN(measure::Profile profile,
               measure::measure_profile(*explored.compiled.executable, inputs,
                                        {.threads = options.flags.values.run.threads, .seconds = options.seconds}));
  measure::describe(profile, explored.compiled.lowered, explored.compiled.built.lowered_steps);
  measure::Ceilings ceilings = measure::measure_ceilings(target);
  measure::measure_ageing(ceilings);
  measure::find_ceilings(profile, ceilings, measure::described_ceilings(target));
  return profile;
}

// Compiles a model and describes the compilation.
static Result<driver::CompilationJson> json_of(const ExploreOptions& options, std::vector<std::string>* files) {
  Progress progress(format("compiling {}", options.model));
  Explored explored;
  RELAY_ASSIGN(explored.model, load(options));
  if (explored.model.form == driver::ModelForm::Artifact)
    return Diagnostic{DiagnosticKind::bad_option,
                      format("{} is compiled already: an artifact has no Relay program any more", options.model),
                      {},
                      {},
                      {},
                      "give the model it was made from"};
  files->insert(files->end(), explored.model.files.begin(), explored.model.files.end());
  RELAY_ASSIGN(driver::Options compilation, compile_options(options, explored.model.output_names));
  compilation.run.make_executable = options.profile || options.verify;
  compilation.passes.trace = [&](const transform::PassTrace& trace) { explored.recording.see(trace); };
  RELAY_ASSIGN(explored.compiled, driver::compile(explored.model.module, compilation));
  print_notes(explored.compiled.report);
  std::vector<runtime::Value> inputs;
  if (compilation.run.make_executable) {
    RELAY_ASSIGN(inputs, inputs_of(explored, options));
  }
  std::optional<measure::Profile> profile;
  if (options.profile) {
    RELAY_ASSIGN(profile, profile_of(explored, inputs, options, compilation.lower.target));
  }
  std::optional<driver::GroupErrors> errors;
  if (options.verify) {
    RELAY_ASSIGN(errors, driver::group_errors(explored.compiled, inputs, compilation));
  }
  return driver::compilation_json({.model = std::filesystem::path(options.model).filename().string(),
                                   .recording = explored.recording,
                                   .compiled = explored.compiled,
                                   .profile = profile ? &*profile : nullptr,
                                   .errors = errors ? &*errors : nullptr,
                                   .texts = !options.no_texts});
}

static Status explore(const ExploreOptions& options) {
  RELAY_RETURN_IF_ERROR(check_output_file(options.output));
  const bool as_json = options.output.ends_with(".json");
  if (as_json && !options.other.empty())
    return Diagnostic{DiagnosticKind::bad_option,
                      format("{} would hold one compilation, and --compare gives two", options.output),
                      {},
                      {},
                      {},
                      "write a page, -o FILE.html, or one file for each model"};
  const double begin = measure::now();
  std::vector<std::string> files;
  std::vector<driver::CompilationJson> compilations;
  RELAY_ASSIGN(driver::CompilationJson one, json_of(options, &files));
  compilations.push_back(std::move(one));
  if (!options.other.empty()) {
    ExploreOptions other = options;
    other.model = options.other;
    RELAY_ASSIGN(driver::CompilationJson two, json_of(other, &files));
    compilations.push_back(std::move(two));
  }
  RELAY_RETURN_IF_ERROR(input::check_output(options.output, files));
  const std::string text = as_json ? compilations[0].all() : driver::explorer_page(compilations);
  RELAY_RETURN_IF_ERROR(write_file(options.output, text));
  print_message(format("{}: {}, in {}; {}", options.output, bytes_text(static_cast<int64_t>(text.size())),
                       milliseconds((measure::now() - begin) * 1e3),
                       as_json ? "docs/compilation-json.md describes it" : "open it in a browser"));
  return ok();
}

void add_explore(CLI::App& app, SelectedVerb& selected) {
  CLI::App* verb = add_verb(app, "explore", "Write a page that shows a model after every pass, and its kernels",
                            "  relay explore model.onnx -o report.html               one file: open it in a browser\n"
                            "  relay explore model.onnx -o report.html --profile     with the time of each kernel\n"
                            "  relay explore model.onnx -o report.html --verify      with the error of each kernel\n"
                            "  relay explore model.onnx -o report.html --compare other.onnx\n"
                            "  relay explore model.onnx -o compilation.json          the data alone");
  std::shared_ptr<ExploreOptions> options = std::make_shared<ExploreOptions>();
  add_model(*verb, *options);
  add_compile_flags(*verb, options->flags);
  verb->add_option("-o,--output", options->output, "File to write: a page, or JSON if its name ends in .json")
      ->required()
      ->type_name("FILE");
  verb->add_option("--compare", options->other, "A second model, to be shown beside the first")->type_name("MODEL");
  verb->add_flag("--profile", options->profile,
                 "Run the model, and add the time and the share of the ceiling of kernels");
  verb->add_flag("--verify", options->verify,
                 "Run the model, and add the difference of values from the evaluator in double precision");
  verb->add_option("--input", options->inputs, "Value of an input for --profile and --verify, as for `relay run`")
      ->type_name("NAME=WHAT");
  verb->add_option("--time", options->seconds, "Seconds that --profile measures")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 3600.0));
  verb->add_flag("--no-texts", options->no_texts,
                 "Leave out the tensor expressions, schedules, loops, C and assembly of kernels");
  verb->callback([options, &selected] { selected.run = [options] { return explore(*options); }; });
}

}  // namespace relay::cli
