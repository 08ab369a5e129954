// relay quantize: turns a float model into one that computes on integers (driver/quantise/quantise.h).
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "relay/driver/cli/model_options.h"
#include "relay/driver/cli/outputs.h"
#include "relay/driver/quantise/quantise.h"
#include "relay/driver/quantise/samples.h"
#include "relay/input/files.h"
#include "relay/text/text.h"

namespace relay::cli {

namespace {
struct QuantizeOptions : ModelOptions {
  std::string data, labels, weights, output, plan, write_plan, keep_float = "auto";
  quantise::Choice settings{};
  std::vector<std::string> keep;
  bool symmetric = false, per_tensor = false, weights_only = false, sensitivity = false, simulate = false, json = false;
  bool compensate = false;
  std::optional<int> bits, weight_bits, group;
  std::optional<std::string> calibration;
  std::optional<double> percentile, max_error, max_drop, smooth;
  double seconds = 1;
};
}  // namespace

// The plan of --plan; flags replace its settings.
static Result<quantise::Plan> plan_of(const QuantizeOptions& options) {
  quantise::Plan plan;
  if (!options.plan.empty()) {
    RELAY_ASSIGN(const std::string text, input::read_file(options.plan));
    RELAY_ASSIGN(plan, quantise::parse_plan(text, options.plan));
  }
  quantise::Choice& settings = plan.settings;
  if (options.bits) settings.bits = options.bits;
  if (options.weight_bits) settings.weight_bits = options.weight_bits;
  if (options.group) settings.group = options.group;
  if (options.calibration) settings.calibration = options.calibration;
  if (options.percentile) settings.percentile = options.percentile;
  if (options.symmetric) settings.symmetric = true;
  if (options.per_tensor) settings.per_channel = false;
  if (options.weights_only) settings.weights_only = true;
  if (options.smooth) settings.smooth = options.smooth;
  if (options.compensate) settings.compensate = true;
  for (const std::string& layer : options.keep) plan.rules.push_back({layer, "*", {.integer = false}});
  return plan;
}

// A program for .relay, else a compiled form.
static Status write_module(const QuantizeOptions& options, const ir::Module& module,
                           const driver::Options& compilation) {
  if (std::filesystem::path(options.output).extension() == ".relay") return text::save(module, options.output);
  driver::Options how = compilation;
  how.run.make_executable = false;
  RELAY_ASSIGN(const driver::Compiled compiled, driver::compile(module, how));
  return driver::save(compiled, driver::form_for(options.output), options.output);
}

static void print_lines(const std::string& text) {
  for (std::string_view line : split(trim(text), '\n')) print(std::string(line));
}

static Status check_options(const QuantizeOptions& options) {
  for (const std::string* path : {&options.output, &options.write_plan})
    if (!path->empty()) {
      RELAY_RETURN_IF_ERROR(check_output_file(*path));
      RELAY_RETURN_IF_ERROR(input::check_output(*path, {options.model, options.data, options.plan, options.weights}));
    }
  if ((options.max_error || options.max_drop) && !options.sensitivity)
    return Diagnostic{DiagnosticKind::bad_option,
                      format("--max-{} needs the errors of layers, which only --sensitivity measures",
                             options.max_error ? "error" : "drop"),
                      {},
                      {},
                      {},
                      "add --sensitivity"};
  if (options.max_drop && options.labels.empty())
    return Diagnostic{DiagnosticKind::bad_option,
                      "--max-drop is a loss of accuracy, which needs --labels",
                      {},
                      {},
                      {},
                      "add --labels NAME, an array of classes in the data"};
  if (!options.labels.empty() && options.data.empty())
    return Diagnostic{
        DiagnosticKind::bad_option, "--labels names an array in the data, but there is no --data", {}, {}, {},
        "add --data FILE.npz"};
  return ok();
}

static Status quantize(const QuantizeOptions& options) {
  RELAY_RETURN_IF_ERROR(check_options(options));
  RELAY_ASSIGN(driver::Model model, load(options));
  if (model.form == driver::ModelForm::Artifact)
    return Diagnostic{DiagnosticKind::bad_option, "an artifact does not contain the Relay program", {}, {}, {},
                      "give the original model"};
  driver::QuantiseOptions how;
  RELAY_ASSIGN(how.compilation, compile_options(options, model.output_names));
  RELAY_ASSIGN(how.plan, plan_of(options));
  if (!options.plan.empty()) how.plan_name = options.plan;
  how.keep_float = options.keep_float == "never" ? driver::KeepFloat::Never : driver::KeepFloat::Auto;
  how.simulate = options.simulate, how.sensitivity = options.sensitivity, how.max_error = options.max_error;
  how.max_drop = options.max_drop;
  how.seconds = options.seconds;
  how.say = [](const std::string& line) { print_message(line); };
  ir::Module module = model.module;
  if (!options.weights.empty()) {
    RELAY_ASSIGN(const input::NamedArrays weights, input::read_npz(options.weights));
    RELAY_ASSIGN(module, driver::bind_weights(module, weights, options.weights));
  }
  driver::SampleFiles data;
  if (!options.data.empty()) {
    RELAY_ASSIGN(data, driver::read_samples(options.data, module, options.labels));
    how.labels = data.labels;
  }
  std::optional<Progress> progress(std::in_place, format("quantising {}", options.model));
  Result<driver::Quantised> made = driver::quantise(module, data.samples, how);
  progress.reset();
  if (!made) return made.errors();
  for (const std::string& note : made->report.notes) print_message(note);
  if (!options.output.empty()) RELAY_RETURN_IF_ERROR(write_module(options, made->module, how.compilation));
  if (!options.write_plan.empty()) RELAY_RETURN_IF_ERROR(write_file(options.write_plan, quantise::str(made->plan)));
  if (options.json)
    std::cout << driver::json(made->report) << "\n";
  else
    print_lines(driver::str(made->report));
  if (!options.output.empty() && std::filesystem::path(options.output).extension() != ".relay" &&
      std::any_of(made->report.layers.begin(), made->report.layers.end(), [](const driver::LayerReport& layer) {
        return layer.stores_only && layer.op.starts_with("nn.conv") && layer.integer_bytes > 0;
      }))
    print_message(format(
        "{}: weights of convolutions are floats in it, made from the integers; a program (.relay) has the integers",
        options.output));
  if (!made->report.excluded.empty())
    print_message(format("stay float for the wanted {}: {}", options.max_drop ? "accuracy" : "error",
                         join(made->report.excluded, ", ")));
  if (!options.output.empty()) print_message(format("wrote {}", options.output));
  if (!options.write_plan.empty())
    print_message(format("wrote {}: edit it, and give it back with --plan {}", options.write_plan, options.write_plan));
  return ok();
}

static void add_settings(CLI::App& verb, QuantizeOptions& options) {
  std::vector<std::string> methods;
  for (const quantise::Calibration& one : quantise::all_calibrations()) methods.emplace_back(one.name);
  verb.add_option("--calibration", options.calibration,
                  "Method that chooses the range of each value: maximum, percentile, kl_divergence or "
                  "mean_squared_error (default: maximum)")
      ->type_name("METHOD")
      ->check(CLI::IsMember(methods));
  verb.add_option("--percentile", options.percentile, "Percentage of values inside of the range (default: 99.99)")
      ->type_name("PERCENT")
      ->check(CLI::Range(50.001, 100.0));
  verb.add_option("--bits", options.bits,
                  "Bits of values that are computed (default: 8). More than 8 take 16 bits of memory")
      ->type_name("N")
      ->check(CLI::Range(2, quantise::most_bits));
  verb.add_option("--weight-bits", options.weight_bits, "Bits of weights (default: 8)")
      ->type_name("N")
      ->check(CLI::Range(2, quantise::most_weight_bits));
  verb.add_flag("--symmetric", options.symmetric, "Use zero points of 0 for values that are computed, too");
  verb.add_flag("--per-tensor", options.per_tensor, "Use one scale for a weight, instead of one for each channel");
  verb.add_flag("--weights-only", options.weights_only,
                "Store weights as integers, and compute in floats: needs no data. Integers of 4 and 2 bits are packed");
  verb.add_option("--group", options.group,
                  "With --weights-only, weights of a row that share a scale, such as 32, 64 or 128; 0: the whole row "
                  "(default: 32 for at most 4 bits, else 0)")
      ->type_name("N")
      ->check(CLI::Range(0, 1 << 16));
  verb.add_option("--smooth", options.smooth,
                  "Move this part of the magnitudes of a product's channels from data into weights, such as 0.5 "
                  "(SmoothQuant): for data whose channels differ much. Needs data")
      ->type_name("PART")
      ->check(CLI::Range(0.0, 1.0));
  verb.add_flag("--compensate", options.compensate,
                "Compensate the error of each rounded weight of a product by the next ones of its row (GPTQ): for few "
                "bits. Needs data");
}

void add_quantize(CLI::App& app, SelectedVerb& selected) {
  CLI::App* verb =
      add_verb(app, "quantize", "Turn a float model into one that computes on integers, where these are faster",
               "  relay quantize model.onnx --data pictures.npz -o model.rart\n"
               "  relay quantize model.onnx --data pictures/ -o model.relay --keep-float never\n"
               "  relay quantize model.onnx --data pictures.npz --write-plan plan.json     then, after editing it:\n"
               "  relay quantize model.onnx --data pictures.npz --plan plan.json -o model.rart\n"
               "  relay quantize model.onnx --data pictures.npz --sensitivity --max-error 0.02\n"
               "  relay quantize decoder.onnx --weights-only --weight-bits 4 --group 32 -o decoder4.rart\n"
               "  relay quantize tree.relay --weights weights.npz --data trees/ -o tree8.relay");
  std::shared_ptr<QuantizeOptions> options = std::make_shared<QuantizeOptions>();
  add_model(*verb, *options);
  add_compile_flags(*verb, options->flags);
  verb->add_option("--data", options->data,
                   "Samples of the inputs: a .npz file with arrays by name, or a folder of .npz, .npy or .relay files")
      ->type_name("PATH");
  verb->add_option("--labels", options->labels, "Array of the data with the classes, for the accuracy")
      ->type_name("NAME");
  verb->add_option("--weights", options->weights, "Values of parameters of @main that are weights, by name")
      ->type_name("FILE.npz");
  verb->add_option("-o,--output", options->output,
                   "File to write: a program (.relay), an artifact, or another form of `relay compile`")
      ->type_name("FILE");
  add_settings(*verb, *options);
  verb->add_option("--plan", options->plan, "Choices by layer, operator and pattern, as --write-plan writes them")
      ->type_name("FILE");
  verb->add_option("--write-plan", options->write_plan, "File for the choices and ranges of all layers")
      ->type_name("FILE");
  verb->add_option("--keep", options->keep, "Layer that stays float; * stands for any text (repeat for more)")
      ->type_name("LAYER")
      ->allow_extra_args(false);
  verb->add_option("--keep-float", options->keep_float,
                   "auto: layers that are not faster on integers stay float; never: quantise all that can be")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "never"}));
  verb->add_flag("--sensitivity", options->sensitivity, "Measure the error that each layer adds alone");
  verb->add_option("--max-error", options->max_error,
                   "With --sensitivity, keep as few layers float as this error of the results needs: 0.02 is 2 %")
      ->type_name("SHARE")
      ->check(CLI::Range(0.0, 1.0));
  verb->add_option("--max-drop", options->max_drop,
                   "The same for the loss of accuracy, with --labels: 0.01 is one percent of the samples")
      ->type_name("SHARE")
      ->check(CLI::Range(0.0, 1.0));
  verb->add_flag("--simulate", options->simulate,
                 "Write the program with quantised and dequantised operands, which computes in floats");
  verb->add_option("--time", options->seconds, "Seconds of each measurement; 0: measure no times")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 600.0));
  verb->add_flag("--json", options->json, "Print the table as JSON");
  verb->callback([options, &selected] { selected.run = [options] { return quantize(*options); }; });
}

}  // namespace relay::cli
