// relay verify: compares a compiled program with the evaluator in double precision.  relay bisect: finds the step of
// the compilation that makes them differ.
#include "relay/driver/verify.h"

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "relay/base/output_file.h"
#include "relay/base/printable.h"
#include "relay/driver/cli/model_options.h"
#include "relay/driver/cli/outputs.h"
#include "relay/driver/reference.h"
#include "relay/input/inputs.h"
#include "relay/input/npy.h"
#include "relay/input/values.h"
#include "relay/ir/main_function.h"
#include "relay/text/text.h"

namespace relay::cli {

namespace {
struct VerifyOptions : ModelOptions {
  std::vector<std::string> inputs;
  double tolerance = 1e-4;
  bool json = false;
  std::string output;     // of bisect
  std::string reference;  // an engine or a file that replaces the evaluator
  std::string program;
  PlantFault plant_fault{};
};
// The subject of a comparison: a case, the ports of its inputs, and the options of its compilation.
struct Question {
  driver::Case c;
  std::vector<input::Port> ports;
  driver::Options compilation;
};
using Json = nlohmann::ordered_json;
}  // namespace

static void print(const driver::Differences& all, const VerifyOptions& options) {
  std::cout << format("{:<24} {:>12} {:>12} {:>10}  verdict\n", "result", "absolute", "relative", "ulp");
  for (const driver::Difference& d : all) {
    std::string verdict = d.within(options.tolerance) ? "right"
                          : d.other.empty() ? format("different: {} beyond {:g}",
                                                     plural(d.elements, "element", "elements"), options.tolerance)
                                            : printable_line(shortened(d.other));
    std::cout << format("{:<24} {:>12.3g} {:>12.3g} {:>10.3g}  {}\n", d.output, d.absolute, d.relative, d.ulps,
                        verdict);
  }
}

static Json json_of(const driver::Differences& all, const VerifyOptions& options) {
  Json out = Json::array();
  for (const driver::Difference& d : all)
    out.push_back({{"output", d.output},
                   {"absolute", d.absolute},
                   {"relative", d.relative},
                   {"ulps", d.ulps},
                   {"elements", d.elements},
                   {"why", d.other},
                   {"right", d.within(options.tolerance)}});
  return out;
}

// The results by --reference, which replace the evaluator's.
static Result<runtime::Value> results_of_reference(const VerifyOptions& options, const driver::Model& model,
                                                   const std::vector<input::Port>& ports,
                                                   const std::vector<runtime::Value>& inputs) {
  const Progress progress(format("asking {}", options.reference));
  RELAY_ASSIGN(driver::ValuesByName values, driver::reference_values(options.reference, options.program, options.model,
                                                                     model.output_names, ports, inputs));
  std::vector<runtime::Value> results;
  for (const std::string& name : model.output_names) {
    auto found = values.find(name);
    if (found == values.end())
      return Diagnostic{
          DiagnosticKind::bad_option, format("{} has no tensor '{}'", options.reference, name), {}, {}, {},
          "leave out --reference"};
    results.push_back(runtime::Value::tensor(found->second));
  }
  return runtime::Value::tuple(std::move(results));
}

// The model; `all_values`: the values of each node, not only its outputs; `as_written`: see Options.
static Result<driver::Model> load_model(const VerifyOptions& options, bool all_values, bool as_written = false) {
  RELAY_ASSIGN(driver::Options how, read_import_options(options.flags));
  how.import.all_values = all_values, how.import.as_written = as_written;
  if (options.plant_fault) options.plant_fault(how);
  return driver::load_model(options.model, how);
}

static Status check_options(const VerifyOptions& options, const driver::Model& model, driver::Mode mode) {
  if (!(options.tolerance > 0))
    return Diagnostic{DiagnosticKind::bad_option,
                      format("--tolerance must be positive, but is {:g}", options.tolerance),
                      {},
                      {},
                      {},
                      "give a fraction of the largest value, as in --tolerance 1e-4"};
  if (model.form == driver::ModelForm::Artifact)
    return Diagnostic{DiagnosticKind::bad_option, "an artifact does not contain the Relay program", {}, {}, {},
                      "give the original model"};
  if (!options.reference.empty() && model.form != driver::ModelForm::Onnx)
    return Diagnostic{DiagnosticKind::bad_option,
                      format("--reference is for ONNX models, but {} is a {}", options.model, name(model.form)),
                      {},
                      {},
                      {},
                      "leave it out: the evaluator is the reference of Relay programs"};
  if (!options.reference.empty() && mode != driver::Mode::Inference)
    return Diagnostic{
        DiagnosticKind::bad_option,
        format("{} computes the model in inference mode, not in {} mode", options.reference, driver::name(mode)),
        {},
        {},
        {},
        "leave out --reference or --mode"};
  return ok();
}

// The evaluator's results of what the file says, not of what importing made of it.
static Result<runtime::Value> results_as_written(const VerifyOptions& options, const driver::Options& compilation,
                                                 const std::vector<runtime::Value>& inputs) {
  RELAY_ASSIGN(const driver::Model model, load_model(options, false, true));
  RELAY_ASSIGN(const ir::Module module, driver::in_mode(model.module, compilation.passes.mode));
  RELAY_ASSIGN(driver::Case c, driver::make_case(module, inputs, options.tolerance));
  return std::move(c.reference);
}

static Result<Question> make_question(const VerifyOptions& options, bool as_written) {
  RELAY_ASSIGN(driver::Model model, load_model(options, false));
  show(model.warnings);
  RELAY_ASSIGN(driver::Options compilation, compile_options(options, model.output_names));
  RELAY_RETURN_IF_ERROR(check_options(options, model, compilation.passes.mode));
  if (options.plant_fault) options.plant_fault(compilation);
  RELAY_ASSIGN(model.module, driver::in_mode(model.module, compilation.passes.mode));
  RELAY_ASSIGN(std::vector<input::Port> ports, input::input_ports(model.module));
  RELAY_ASSIGN(input::Inputs inputs, input::make_inputs(ports, {options.inputs, options.shapes()}, model.module));
  for (const std::string& note : inputs.notes) print_message(note);
  driver::Case c{model.module, std::move(inputs.values), {}, options.tolerance, model.output_names};
  if (!options.reference.empty()) {
    RELAY_ASSIGN(c.reference, results_of_reference(options, model, ports, c.inputs));
    return Question{std::move(c), std::move(ports), std::move(compilation)};
  }
  const Progress progress(format("evaluating {} in double precision", options.model));
  if (as_written && model.form == driver::ModelForm::Onnx) {
    RELAY_ASSIGN(c.reference, results_as_written(options, compilation, c.inputs));
  } else {
    RELAY_ASSIGN(driver::Case evaluated, driver::make_case(c.module, c.inputs, options.tolerance));
    c.reference = std::move(evaluated.reference);
  }
  return Question{std::move(c), std::move(ports), std::move(compilation)};
}

static Diagnostic differs(const VerifyOptions& options, std::string help) {
  return {DiagnosticKind::wrong_result,
          format("the compiled program differs from {} by more than {:g} of the largest value",
                 options.reference.empty() ? "the evaluator" : options.reference, options.tolerance),
          {},
          {},
          {},
          std::move(help)};
}

static Status verify(const VerifyOptions& options) {
  RELAY_ASSIGN(const Question question, make_question(options, true));
  RELAY_ASSIGN(const driver::Differences all, driver::compiled_differences(question.c, question.compilation));
  if (options.json)
    std::cout
        << Json{{"model", options.model}, {"tolerance", options.tolerance}, {"results", json_of(all, options)}}.dump(2)
        << "\n";
  else
    print(all, options);
  if (!driver::within(all, options.tolerance))
    return differs(options, "relay bisect with the same arguments names the step that is to blame");
  return ok();
}

// A word for a shell.
static std::string quoted(const std::string& word) {
  std::string out = "'";
  for (char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// True if a shell reads the word as it is.
static bool is_plain(const std::string& word) {
  return word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.,=+/") == word.npos;
}

// The command that repeats it in the folder of `options`, which has the inputs and schedules.
static Result<std::string> command_for(const driver::Part& part, const VerifyOptions& options,
                                       const driver::Options& compilation) {
  std::string out = format("relay bisect smallest.relay --tolerance {:g}", options.tolerance);
  for (const std::string& word : words_of(options.flags)) out += " " + (is_plain(word) ? word : quoted(word));
  auto add_file = [&](const char* option, const std::string& name, const std::string& file) {
    out += format(" {} {}", option, quoted(format("{}={}", name, file)));
    return options.output + "/" + file;
  };
  for (const auto& [group, text] : compilation.lower.schedules)
    RELAY_RETURN_IF_ERROR(write_file(add_file("--schedule", group, group + ".schedule"), text));
  const std::vector<ir::VarRef>& params = part.module.functions.at(ir::main_function)->params;
  for (size_t i = 0; i < params.size(); ++i) {
    const runtime::Value& value = part.inputs[i];
    if (value.is_tensor()) {
      const std::string path = add_file("--input", params[i]->name, format("input{}.npy", i));
      RELAY_RETURN_IF_ERROR(input::write_npy(path, value.tensor()));
      continue;
    }
    RELAY_ASSIGN(const ir::Expr e, input::to_expr(value, part.module));
    const std::string text = text::str(e, {.value_elements = std::numeric_limits<int64_t>::max()});
    RELAY_RETURN_IF_ERROR(write_file(add_file("--input", params[i]->name, format("input{}.relay", i)), text + "\n"));
  }
  return out;
}

// The smallest part with its inputs and the command that repeats it; the programs before and after the pass.
static Status write_findings(const driver::Blame& blame, const VerifyOptions& options, const Question& question) {
  const std::string& folder = options.output;
  if (folder.empty() || blame.kind == driver::Blame::Kind::Nothing) return ok();
  RELAY_RETURN_IF_ERROR(make_folder(folder));
  if (blame.kind == driver::Blame::Kind::Import) {
    RELAY_RETURN_IF_ERROR(driver::write_node(folder, options.program, options.model, blame.differences[0].output,
                                             options.reference, question.ports, question.c.inputs));
    print_message(format("wrote the node and its inputs to {}: run command.txt there", folder));
    return ok();
  }
  if (blame.kind == driver::Blame::Kind::Pass) {
    RELAY_RETURN_IF_ERROR(text::save(blame.before, folder + "/before.relay", false));
    if (!blame.after.functions.empty()) RELAY_RETURN_IF_ERROR(text::save(blame.after, folder + "/after.relay", false));
  }
  if (blame.smallest.module.functions.empty()) return ok();
  RELAY_RETURN_IF_ERROR(text::save(blame.smallest.module, folder + "/smallest.relay", false));
  RELAY_ASSIGN(const std::string command, command_for(blame.smallest, options, question.compilation));
  RELAY_RETURN_IF_ERROR(write_file(folder + "/command.txt", command + "\n"));
  print_message(format("wrote the files that reproduce it to {}: run command.txt there", folder));
  return ok();
}

static void print_smallest(const driver::Blame& blame) {
  for (const std::string& rule : blame.rules) std::cout << format("it applied: {}\n", rule);
  if (blame.smallest.module.functions.empty()) return;
  NamedTensors left_out;
  std::cout << format("the smallest part that reproduces it, {}:\n{}",
                      plural(static_cast<int64_t>(driver::count_calls(blame.smallest)), "call", "calls"),
                      text::str(blame.smallest.module, {.version = false, .weights = &left_out}));
}

// Blames the import of a node, if it is wrong: with --reference this is checked first.
static Result<driver::Blame> bisect_import(const VerifyOptions& options, const Question& question) {
  RELAY_ASSIGN(const driver::Model model, load_model(options, true));
  RELAY_ASSIGN(driver::ValuesByName values,
               driver::reference_values(options.reference, options.program, options.model, model.output_names,
                                        question.ports, question.c.inputs));
  const Progress progress(format("evaluating {} values of {}", values.size(), options.model));
  RELAY_ASSIGN(driver::Blame blame, driver::blame_import(model, question.c.inputs, values, options.tolerance));
  print_message(blame.kind == driver::Blame::Kind::Nothing
                    ? format("as imported: {} right", plural(std::ssize(blame.differences), "value is", "values are"))
                    : format("as imported: '{}' is different", blame.differences[0].output));
  return blame;
}

static Result<driver::Blame> find_blame(const VerifyOptions& options, const Question& question) {
  if (!options.reference.empty()) {
    RELAY_ASSIGN(driver::Blame import, bisect_import(options, question));
    if (import.kind == driver::Blame::Kind::Import) return import;
  }
  return driver::bisect(question.c, question.compilation, [](const std::string& step) { print_message(step); });
}

static Status bisect(const VerifyOptions& options) {
  RELAY_ASSIGN(const Question question, make_question(options, false));
  RELAY_ASSIGN(const driver::Blame blame, find_blame(options, question));
  using Kind = driver::Blame::Kind;
  const char* const kinds[] = {"nothing", "import", "pass", "rule", "compiler"};
  const char* kind = kinds[static_cast<size_t>(blame.kind)];
  const size_t calls = blame.smallest.module.functions.empty() ? 0 : driver::count_calls(blame.smallest);
  if (options.json) {
    std::cout << Json{{"model", options.model},
                      {"blame", kind},
                      {"name", blame.name},
                      {"rules", blame.rules},
                      {"calls", calls},
                      {"smallest",
                       blame.smallest.module.functions.empty() ? Json() : Json(text::str(blame.smallest.module))},
                      {"results", json_of(blame.differences, options)}}
                     .dump(2)
              << "\n";
  } else {
    print(blame.differences, options);
    if (blame.kind == Kind::Nothing)
      std::cout << "nothing is to blame: the compiled program is right on these inputs\n";
    else if (blame.kind == Kind::Import)
      std::cout << format("to blame: the import of {}\n", printable_line(shortened(blame.name)));
    else if (blame.kind == Kind::Pass)
      std::cout << format("to blame: the pass {}\n", blame.name);
    else if (blame.kind == Kind::Rule)
      std::cout << format("to blame: the schedule rule {}; without it the program is right\n", blame.name);
    else
      std::cout << "to blame: no single pass or schedule rule; rounding, the loops or code generation\n";
    print_smallest(blame);
  }
  RELAY_RETURN_IF_ERROR(write_findings(blame, options, question));
  if (blame.kind != Kind::Nothing)
    return differs(options,
                   options.output.empty()
                       ? "-o FOLDER writes the smallest part, its inputs and a command that reproduces the difference"
                       : format("sh command.txt, in {}, reproduces it", options.output));
  return ok();
}

static std::shared_ptr<VerifyOptions> add(CLI::App& verb, const SelectedVerb& selected) {
  std::shared_ptr<VerifyOptions> options = std::make_shared<VerifyOptions>();
  add_model(verb, *options);
  add_compile_flags(verb, options->flags);
  verb.add_option(
          "--input", options->inputs,
          "Value of an input, as for `relay run`: NAME=FILE.npy, NAME=random:SEED, NAME=NUMBER, NAME=expr:EXPRESSION, "
          "or FILE.npz for several")
      ->type_name("NAME=WHAT");
  verb.add_option("--tolerance", options->tolerance,
                  "Largest allowed difference, relative to the largest value of a result")
      ->capture_default_str();
  verb.add_option("--reference", options->reference,
                  "Reference for ONNX models (default: the evaluator): onnxruntime, onnx (its reference evaluator), or "
                  "FILE.npz "
                  "with values by name")
      ->type_name("ENGINE|FILE");
  verb.add_flag("--json", options->json, "Print the differences as JSON");
  options->program = selected.program;
  options->plant_fault = selected.plant_fault;
  return options;
}

void add_verify(CLI::App& app, SelectedVerb& selected) {
  CLI::App* verb = add_verb(app, "verify", "Compare the compiled program with the evaluator in double precision",
                            "  relay verify model.onnx\n"
                            "  relay verify model.onnx --input image=cat.npy --tolerance 1e-5\n"
                            "  relay verify model.onnx --reference onnxruntime\n"
                            "  relay verify model.onnx --target native,-avx512f -O 3 --json");
  std::shared_ptr<VerifyOptions> options = add(*verb, selected);
  verb->callback([options, &selected] { selected.run = [options] { return verify(*options); }; });
}

void add_bisect(CLI::App& app, SelectedVerb& selected) {
  CLI::App* verb = add_verb(
      app, "bisect", "Find the pass, the schedule rule or the imported node that makes a result wrong",
      "  relay bisect model.onnx\n"
      "  relay bisect model.onnx --reference onnxruntime               checks the import of each node first\n"
      "  relay bisect model.onnx --input image=cat.npy -o wrong/       the programs before and after the pass");
  std::shared_ptr<VerifyOptions> options = add(*verb, selected);
  verb->add_option("-o,--output", options->output,
                   "Write the smallest part, its inputs, a command that reproduces the difference, and the programs "
                   "before and after the pass to this folder")
      ->type_name("FOLDER");
  verb->callback([options, &selected] { selected.run = [options] { return bisect(*options); }; });
}

}  // namespace relay::cli
