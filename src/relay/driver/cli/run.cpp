// relay run: compiles a model (or loads an artifact) and runs it once, on specified or random inputs.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "relay/base/bytes.h"
#include "relay/base/printable.h"
#include "relay/driver/cli/model_options.h"
#include "relay/driver/cli/outputs.h"
#include "relay/driver/debug.h"
#include "relay/driver/differences.h"
#include "relay/driver/pjrt_run.h"
#include "relay/driver/ready_model.h"
#include "relay/input/array_text.h"
#include "relay/input/files.h"
#include "relay/input/values.h"
#include "relay/measure/measure.h"

namespace relay::cli {

namespace {
struct RunOptions : ModelOptions {
  std::vector<std::string> inputs;
  std::string output, state;
  std::string executor = "compiled";
  bool no_cache = false, json = false;
  std::vector<std::string> for_compiling, after_import;  // those specified
};
using Json = nlohmann::ordered_json;
}  // namespace

constexpr int64_t max_json_values = 1000;  // per result

// JSON has no infinities and no NaN: they become strings.
static Json json_value(const Tensor& value, int64_t i) {
  if (value.dtype().is_bool()) return value.int_at(i) != 0;
  if (!value.dtype().is_float()) return value.int_at(i);
  double x = value.at(i);
  return std::isfinite(x) ? Json(x) : Json(format("{}", x));
}

static Json json_output(const std::string& name, const runtime::Value& value) {
  if (!value.is_tensor()) return {{"name", name}, {"value", runtime::str(value, 100)}};
  const Tensor& tensor = value.tensor();
  Json values;  // null if there are too many: --output writes them all
  if (tensor.elements() <= max_json_values) {
    values = Json::array();
    for (int64_t i = 0; i < tensor.elements(); ++i) values.push_back(json_value(tensor, i));
  }
  return {{"name", name}, {"dtype", tensor.dtype().str()}, {"shape", tensor.shape()}, {"values", values}};
}

// The results of a run: tuples flattened, each with its name.
static std::vector<runtime::Value> spread(const runtime::Value& result) {
  std::vector<runtime::Value> out, work{result};
  while (!work.empty()) {
    runtime::Value v = work.back();
    work.pop_back();
    if (v.kind() != runtime::ObjectKind::Tuple) {
      out.push_back(v);
      continue;
    }
    for (size_t i = v.size(); i-- > 0;) work.push_back(v.field(i));
  }
  return out;
}

static Status finish(const RunOptions& options, const std::vector<std::string>& names,
                     const std::vector<runtime::Value>& values, Json about) {
  input::NamedArrays outputs;
  Json results = Json::array();
  for (size_t i = 0; i < values.size(); ++i) {
    if (options.json) results.push_back(json_output(names[i], values[i]));
    if (values[i].is_tensor()) {
      if (!options.json && !is_stdout(options.output)) std::cout << input::array_text(names[i], values[i].tensor());
      outputs.emplace_back(names[i], values[i].tensor());
    } else if (!options.json) {
      std::cout << printable_line(shortened(names[i])) << ": " << printable_line(runtime::str(values[i], 100)) << "\n";
    }
  }
  if (options.json) {
    about["outputs"] = results;
    std::cout << about.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  }
  if (options.output.empty()) return ok();
  if (outputs.size() < values.size())
    print_message(format("{} not a tensor: not written",
                         plural(static_cast<int64_t>(values.size() - outputs.size()), "result is", "results are")));
  if (outputs.empty()) return ok();
  RELAY_RETURN_IF_ERROR(write_outputs(options.output, outputs));
  if (!is_stdout(options.output))
    print_message(
        format("wrote {} to {}", plural(static_cast<int64_t>(outputs.size()), "result", "results"), options.output));
  return ok();
}

static Status run_debug(const RunOptions& options) {
  RELAY_ASSIGN(driver::Model model, load(options));
  if (model.form == driver::ModelForm::Artifact)
    return Diagnostic{
        DiagnosticKind::bad_option, "an artifact has no Relay program for the debug executor to evaluate", {}, {}, {},
        "give the original model"};
  RELAY_ASSIGN(std::vector<input::Port> ports, input::input_ports(model.module));
  RELAY_ASSIGN(input::Inputs inputs, input::make_inputs(ports, {options.inputs, options.shapes()}, model.module));
  for (const std::string& note : inputs.notes) print_message(note);
  double begin = measure::now();
  RELAY_ASSIGN(eval::Value result, driver::evaluate_main(model.module, inputs.values, driver::EvalPrecision::Native));
  double ms = (measure::now() - begin) * 1e3;
  if (Result<runtime::Value> value = input::to_runtime(result, model.module)) {
    std::vector<runtime::Value> values = spread(*value);
    Json about = {{"model", options.model}, {"executor", "debug"}, {"read_ms", model.ms}, {"run_ms", ms}};
    RELAY_RETURN_IF_ERROR(finish(options, driver::result_names(model.output_names, values.size()), values, about));
  } else {
    std::cout << printable_line(eval::str(result)) << "\n";  // it contains a function
    if (!options.output.empty()) print_message("the result contains functions: nothing was written");
  }
  print_message(format("the debug executor evaluated @main as written, one thread, nothing compiled: read {}, run {}",
                       milliseconds(model.ms), milliseconds(ms)));
  return ok();
}

// The tensors that a PJRT plugin takes.
static Result<std::vector<Tensor>> plugin_inputs(const std::vector<input::Port>& ports,
                                                 const std::vector<runtime::Value>& values) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < values.size(); ++i)
    for (const runtime::Value& leaf : spread(values[i])) {
      if (!leaf.is_tensor())
        return Diagnostic{DiagnosticKind::not_supported,
                          format("input `{}` is {}, and a PJRT plugin takes tensors", ports[i].name, ports[i].str()),
                          {},
                          {},
                          {},
                          "leave out --target, to run the model on this machine's CPU"};
      out.push_back(leaf.tensor());
    }
  return out;
}

// Refuses options of compilations and runs that Relay does itself.
static Status check_plugin_options(const RunOptions& options) {
  std::vector<std::string> idle;
  for (const std::string& flag : options.after_import)
    if (flag != "--target" && flag != "--state") idle.push_back(flag);
  if (!options.state.empty()) idle.emplace_back("--state");
  if (options.executor != "compiled") idle.emplace_back("--executor");
  if (idle.empty()) return ok();
  return Diagnostic{
      DiagnosticKind::bad_option,
      format("a PJRT plugin compiles and runs the program itself: {} would have no effect", join(idle, ", ")),
      {},
      {},
      {},
      "leave out one or the other"};
}

static Status run_on_plugin(const RunOptions& options, const std::string& plugin) {
  RELAY_RETURN_IF_ERROR(check_plugin_options(options));
  RELAY_ASSIGN(driver::Model model, load(options));
  if (model.form == driver::ModelForm::Artifact)
    return Diagnostic{DiagnosticKind::bad_option,
                      format("{} is compiled already, and has no program for a PJRT plugin", options.model),
                      {},
                      {},
                      {},
                      "give the original model"};
  RELAY_ASSIGN(const std::vector<input::Port> ports, input::input_ports(model.module));
  RELAY_ASSIGN(const input::Inputs inputs, input::make_inputs(ports, {options.inputs, options.shapes()}, model.module));
  for (const std::string& note : inputs.notes) print_message(note);
  RELAY_ASSIGN(const std::vector<Tensor> tensors, plugin_inputs(ports, inputs.values));
  RELAY_ASSIGN(driver::PjrtRun done, driver::pjrt_runner()(model.module, plugin, tensors));
  std::vector<runtime::Value> values;
  for (Tensor& result : done.results) values.push_back(runtime::Value::tensor(std::move(result)));
  const Json about = {{"model", options.model},        {"executor", "pjrt"},
                      {"device", done.device},         {"read_ms", model.ms},
                      {"compile_ms", done.compile_ms}, {"run_ms", done.run_ms}};
  RELAY_RETURN_IF_ERROR(finish(options, driver::result_names(model.output_names, values.size()), values, about));
  print_message(format("on {}: read {}, compile {}, run {}", done.device, milliseconds(model.ms),
                       milliseconds(done.compile_ms), milliseconds(done.run_ms)));
  return ok();
}

// Checks that results do not overwrite input files, and that only one thing is written to stdout.
static Status check_output(const RunOptions& options) {
  if (options.json && is_stdout(options.output))
    return Diagnostic{DiagnosticKind::bad_option,
                      "--json and --output - both write to stdout",
                      {},
                      {},
                      {},
                      "leave out one of them, or give --output a file"};
  std::vector<std::string> read = {options.model};
  for (const std::string& input : options.inputs) read.push_back(input.substr(input.find('=') + 1));
  return input::check_output(options.output, read);
}

static Status check_state(const RunOptions& options) {
  auto wrong = [](std::string message, std::string help) {
    return Diagnostic{DiagnosticKind::bad_option, std::move(message), {}, {}, {}, std::move(help)};
  };
  if (!options.state.ends_with(".npz"))
    return wrong(format("--state '{}' is not a .npz file", options.state), "give a name as in --state state.npz");
  if (options.executor == "debug")
    return wrong("the debug executor keeps no state", "leave out --state, or choose another executor");
  return check_output_file(options.state);
}

namespace {
// The file of --state and what it holds; unused if the option is not given.
struct StateFile {
  std::string path;
  std::vector<std::pair<std::string, size_t>> states{};  // an input, and the result that replaces it
};
}  // namespace

static Result<StateFile> state_file(const RunOptions& options, const runtime::Executable& executable) {
  StateFile file{options.state};
  if (file.path.empty()) return file;
  for (const runtime::Donation& d : executable.program().donations)
    if (d.result) file.states.emplace_back(executable.inputs()[d.input].name, *d.result);
  if (file.states.empty())
    return Diagnostic{DiagnosticKind::bad_option,
                      "--state needs a model with state",
                      {},
                      {},
                      {},
                      "name the input and the result of each state, as in --donate keys=new_keys"};
  return file;
}

// The arguments of --input, and those that give the state.
static std::vector<std::string> with_state(std::vector<std::string> inputs, const StateFile& file) {
  if (file.path.empty()) return inputs;
  if (std::filesystem::exists(file.path)) {
    inputs.push_back(file.path);
    return inputs;
  }
  for (const auto& [input, result] : file.states) inputs.push_back(input + "=zeros");
  print_message(format("{} does not exist yet: the state begins as zeros", file.path));
  return inputs;
}

static Status write_state(const StateFile& file, const std::vector<runtime::Value>& results) {
  if (file.path.empty()) return ok();
  input::NamedArrays arrays;
  for (const auto& [input, result] : file.states) arrays.emplace_back(input, results[result].tensor());
  RELAY_RETURN_IF_ERROR(input::write_npz(file.path, arrays));
  print_message(format("wrote the state ({}) to {}", plural(arrays.size(), "array", "arrays"), file.path));
  return ok();
}

// ", 2 copies between devices (1 KiB)", or "".
static std::string copies_text(const runtime::Report& run) {
  if (run.transfers == 0) return "";
  return format(", {} between devices ({})", plural(run.transfers, "copy", "copies"),
                bytes_text(run.transferred_bytes));
}

// The default cache; null, with a message, if it cannot be opened.
static std::unique_ptr<cache::Cache> usable_cache() {
  Result<std::unique_ptr<cache::Cache>> opened = cache::open_default_cache();
  if (opened) return *std::move(opened);
  print_message(opened.errors()[0].message);
  return nullptr;
}

// Replaces fast code in the cache, after a second use: others are likely to follow.
static void keep_full_code(runtime::Executable& executable, runtime::Tier tier, const driver::Options& options) {
  if (tier == runtime::Tier::Full || options.run.tier != driver::Tier::Auto) return;
  const double begin = measure::now();
  const Status done = executable.wait_for_upgrade();
  const std::string time = milliseconds((measure::now() - begin) * 1e3);
  print_message(done ? format("compiled full code for later runs in {}", time)
                     : format("full code could not be compiled: {}", done.errors()[0].message));
}

// The model, compiled or from the cache; shows the progress and the warnings of reading it.
static Result<driver::ReadyModel> ready_model(const RunOptions& options, const driver::Options& compilation) {
  const std::unique_ptr<cache::Cache> cache = options.no_cache ? nullptr : usable_cache();
  Diagnostics warnings;
  std::optional<Progress> progress(std::in_place, format("compiling {}", options.model));
  Result<driver::ReadyModel> made =
      driver::prepare_model(options.model, compilation, cache.get(), warnings, driver::Keep::Code);
  progress.reset();
  show(warnings);
  return made;
}

static Status run(const RunOptions& options) {
  RELAY_RETURN_IF_ERROR(check_output(options));
  if (!options.output.empty()) RELAY_RETURN_IF_ERROR(check_outputs(options.output));
  if (!options.state.empty()) RELAY_RETURN_IF_ERROR(check_state(options));
  const std::vector<std::string>& target = options.flags.texts.at("target");
  if (const std::optional<std::string> plugin = driver::pjrt_plugin(target.empty() ? "" : target[0]))
    return run_on_plugin(options, *plugin);
  if (options.executor == "debug") return run_debug(options);
  RELAY_RETURN_IF_ERROR(refuse_for_artifact(options.model, options.for_compiling));
  RELAY_ASSIGN(driver::Options compilation, compile_options(options));
  RELAY_ASSIGN(compilation.run.executor, driver::find_executor(options.executor));
  if (!options.flags.texts.at("memory_limit").empty() && compilation.run.memory_limit == 0)
    return Diagnostic{DiagnosticKind::bad_option,
                      "--memory-limit 0 leaves no memory to run in",
                      {},
                      {},
                      {},
                      "give a size, as in --memory-limit 500M, or leave out the option"};
  Result<driver::ReadyModel> made = ready_model(options, compilation);
  if (!made) return made.errors();
  // Kept: at the end of the process, the system frees the nodes of the program faster than their destructors.
  static driver::ReadyModel* const kept = new driver::ReadyModel(*std::move(made));
  driver::ReadyModel& ready = *kept;
  if (input::is_pipe(options.model))  // whose form was unknown before
    RELAY_RETURN_IF_ERROR(refuse_for_artifact(options.model, options.for_compiling, ready.model.form));
  for (const std::string& note : ready.notes) print_message(note);
  if (ready.compiled) print_notes(ready.compiled->report);
  if (ready.cached)
    for (const std::string& note : ready.cached->notes) print_message(note);

  runtime::Executable& executable = *ready.executable;
  RELAY_ASSIGN(const StateFile state, state_file(options, executable));
  RELAY_ASSIGN(input::Inputs inputs,
               input::make_inputs(input::input_ports(executable), {with_state(options.inputs, state), options.shapes()},
                                  ready.model.types()));
  for (const std::string& note : inputs.notes) print_message(note);
  const runtime::Tier tier = executable.tier();
  runtime::Report what;
  double begin = measure::now();
  RELAY_ASSIGN(runtime::Value result,
               executable.call(inputs.values, {.threads = compilation.run.threads, .report = &what}));
  double ms = (measure::now() - begin) * 1e3;
  std::vector<std::string> names;
  for (const runtime::PortInfo& port : executable.outputs()) names.push_back(port.name);
  std::vector<runtime::Value> values = spread(result);
  double compile_ms = ready.compiled ? ready.compiled->report.total_ms() : ready.cached ? ready.cached->compile_ms : 0;
  Json about = {{"model", options.model},
                {"executor", runtime::name(executable.executor())},
                {"threads", what.threads},
                {"kernel_calls", what.kernel_calls},
                {"copies", what.transfers},
                {"copied_bytes", what.transferred_bytes},
                {"cached", ready.cached.has_value()},
                {"tier", runtime::name(tier)},
                {"read_ms", ready.model.ms},
                {"compile_ms", compile_ms},
                {"run_ms", ms}};
  RELAY_RETURN_IF_ERROR(finish(options, driver::result_names(names, values.size()), values, about));
  RELAY_RETURN_IF_ERROR(write_state(state, values));

  std::string where = ready.compiled ? summary(ready.compiled->report)
                                     : format("{}, {}, {}", ready.cached ? ready.cached->options : "artifact",
                                              plural(what.kernel_calls, "kernel call", "kernel calls"),
                                              plural(what.threads, "thread", "threads"));
  std::string read = ready.compiled ? format("read {}, compile {}", milliseconds(ready.model.ms),
                                             milliseconds(ready.compiled->report.total_ms()))
                     : ready.cached ? format("from the cache {} (compiling took {})", milliseconds(ready.model.ms),
                                             milliseconds(ready.cached->compile_ms))
                                    : format("read {}", milliseconds(ready.model.ms));
  print_message(format("{}{}, {}: {}, run {}{}{}", where, copies_text(what), in_words(executable.executor()), read,
                       milliseconds(ms), tier == runtime::Tier::Fast ? " with fast code" : "",
                       what.planned ? " (the first run, with memory planning)" : ""));
  if (ready.cached) keep_full_code(executable, tier, compilation);
  return ok();
}

void add_run(CLI::App& app, SelectedVerb& selected) {
  CLI::App* verb = add_verb(app, "run", "Compile a model and run it once, or run an artifact",
                            "  relay run model.onnx                                      random inputs, seed 0\n"
                            "  relay run model.onnx --input image=cat.npy --output out.npz\n"
                            "  relay run model.onnx --shape image=8,3,224,224 --threads 1\n"
                            "  relay run list.relay --input 'l=expr:Cons(1, Nil)' --input n=3\n"
                            "  relay run rnn.onnx --donate h=h_out --state h.npz          a step; again for the next\n"
                            "  relay run tree.relay --executor aot                       functions as machine code\n"
                            "  relay run tree.relay --executor debug                     the reference evaluator\n"
                            "  relay run model.onnx --target pjrt:./plugin.so            a device of XLA");
  std::shared_ptr<RunOptions> options = std::make_shared<RunOptions>();
  add_model(*verb, *options, "ONNX file, Relay program or artifact");
  add_compile_flags(*verb, options->flags);
  verb->add_option("--input", options->inputs,
                   "NAME=FILE.npy, NAME=random:SEED, NAME=zeros, NAME=ones, NAME=NUMBER, NAME=expr:EXPRESSION, "
                   "NAME=FILE.relay (an expression), or FILE.npz for "
                   "several")
      ->type_name("NAME=WHAT");
  verb->add_option("--output", options->output,
                   "Write the results to a file (.npz, .npy or .txt), to .npy files in a folder (a name without "
                   "extension), or as text to stdout (-)")
      ->type_name("PATH");
  verb->add_option("--state", options->state,
                   "Read the state of the model (see --donate) from this .npz file, if it exists, and write the new "
                   "state to it after the run")
      ->type_name("FILE");
  verb->add_option("--executor", options->executor,
                   "compiled (graph if possible, otherwise vm), vm: virtual machine, aot: functions as machine code, "
                   "graph, or debug: the slow reference")
      ->capture_default_str()
      ->check(CLI::IsMember({"compiled", "vm", "aot", "graph", "debug"}));
  verb->add_flag("--json", options->json, "Print the results and the run's figures as JSON");
  verb->add_flag("--no-cache", options->no_cache, "Compile without reading or writing the cache (see `relay cache`)");
  verb->callback([options, verb, &selected] {
    options->for_compiling = given_compile_flags(*verb);
    options->after_import = given_flags_after_import(*verb);
    selected.run = [options] { return run(*options); };
  });
}

}  // namespace relay::cli
