// relay tune: measures the candidates of a model's groups and keeps the fastest (python/relay/tools/tune.py).
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "relay/cache/tuning_records.h"
#include "relay/driver/cli/model_options.h"
#include "relay/driver/cli/outputs.h"
#include "relay/driver/targets.h"
#include "relay/input/python.h"

namespace relay::cli {

namespace {
struct TuneOptions : ModelOptions {
  std::string budget = "5m", export_to, program, there, ssh_config;
  std::vector<std::string> merge, inputs, on;
  bool json = false;
};
}  // namespace

static Diagnostic wrong(std::string message, std::string help) {
  return Diagnostic{DiagnosticKind::bad_option, std::move(message), {}, {}, {}, std::move(help)};
}

static Result<std::string> records_file(const TuneOptions& options) {
  if (const std::string& given = options.flags.values.lower.records; !given.empty()) return given;
  if (std::optional<std::string> file = cache::default_tuning_records()) return *file;
  return wrong("there is no place for records: RELAY_TUNING_RECORDS or RELAY_CACHE is off",
               "name a file with --records");
}

// The words of the command line after MODEL that `relay compile` takes, without those that the tuner sets itself.
static std::vector<std::string> compile_words(const TuneOptions& options) {
  OptionFlags flags = options.flags;
  flags.values.lower.records.clear(), flags.values.lower.no_tuned = false, flags.values.run.threads = 0;
  std::vector<std::string> words = words_of(flags);
  const auto threads = std::find(words.begin(), words.end(), "--threads");
  if (threads != words.end()) words.erase(threads, threads + 2);
  if (const auto shapes = flags.texts.find("shapes"); shapes != flags.texts.end())
    for (const std::string& shape : shapes->second) words.insert(words.end(), {"--shape", shape});
  return words;
}

static Status tune(const TuneOptions& options) {
  if (options.model.empty() && options.merge.empty() && options.export_to.empty())
    return wrong("MODEL is required", "relay tune --help");
  RELAY_ASSIGN(const std::string records, records_file(options));
  if (!options.model.empty()) {
    RELAY_ASSIGN(const driver::ModelForm form, driver::form_of(options.model));
    if (form == driver::ModelForm::Artifact)
      return wrong(format("{} is compiled already", options.model), "give the original model");
    RELAY_ASSIGN(const driver::Options compilation, read_options(options.flags));
    if (options.on.empty()) RELAY_RETURN_IF_ERROR(driver::check_runs_here(compilation.lower.target));
  }
  std::vector<std::string> words{input::python_interpreters(options.program)[0], "-m", "relay.tools.tune"};
  if (!options.model.empty()) words.push_back(options.model);
  words.insert(words.end(), {"--budget", options.budget, "--records", records});
  words.insert(words.end(), {"--threads", format("{}", options.flags.values.run.threads)});
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error && !self.filename().string().starts_with("python")) words.insert(words.end(), {"--relay", self.string()});
  for (const std::string& file : options.merge) words.insert(words.end(), {"--merge", file});
  if (!options.export_to.empty()) words.insert(words.end(), {"--export", options.export_to});
  for (const std::string& input : options.inputs) words.insert(words.end(), {"--input", input});
  for (const std::string& machine : options.on) words.insert(words.end(), {"--on", machine});
  if (!options.there.empty()) words.insert(words.end(), {"--there", options.there});
  if (!options.ssh_config.empty()) words.insert(words.end(), {"--ssh-config", options.ssh_config});
  if (options.json) words.emplace_back("--json");
  words.emplace_back("--");
  for (const std::string& word : compile_words(options)) words.push_back(word);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());  // keeps Ctrl-C, the terminal and the exit status
  return wrong(format("{} cannot be started: {}", words[0], std::strerror(errno)),
               "relay tune runs in Python: set RELAY_PYTHON to an interpreter with the package relay");
}

void add_tune(CLI::App& app, SelectedVerb& selected) {
  CLI::App* verb = add_verb(
      app, "tune", "Measure other schedules of a model's kernels, and keep the fastest for `relay compile`",
      "  relay tune model.onnx --budget 5m               Ctrl-C keeps the results; the next run goes on from there\n"
      "  relay compile model.onnx -o model.rart          uses them, and says so; --no-tuned leaves them out\n"
      "  relay tune model.onnx --on ssh://lab1 --on ssh://lab2     builds here, and measures on two other machines\n"
      "  relay tune --export records.txt                 all records as text, for other machines of the same type\n"
      "  relay tune --merge records.txt");
  std::shared_ptr<TuneOptions> options = std::make_shared<TuneOptions>();
  add_model(*verb, *options);
  verb->get_option("MODEL")->required(false);
  add_compile_flags(*verb, options->flags);
  verb->add_option("--budget", options->budget, "Time to spend: 90s, 5m, 1h")->type_name("TIME")->capture_default_str();
  verb->add_option("--input", options->inputs, "Value of an input, as for `relay run`; others are random")
      ->type_name("NAME=WHAT")
      ->allow_extra_args(false);
  verb->add_option("--on", options->on,
                   "Measure on another machine that has Relay, or on those of a Ray cluster (ray://HOST:PORT, or "
                   "ray://local), instead of this one (repeat for more machines of the same type)")
      ->type_name("ssh://[USER@]HOST[:PORT]")
      ->allow_extra_args(false);
  verb->add_option("--there", options->there, "With --on ssh://: the command that calls Relay there (default: relay)")
      ->type_name("COMMAND");
  verb->add_option("--ssh-config", options->ssh_config,
                   "With --on: the configuration file of ssh, instead of the user's")
      ->type_name("FILE");
  verb->add_option("--merge", options->merge, "Add the records of this text first (repeat for more)")
      ->type_name("FILE")
      ->allow_extra_args(false);
  verb->add_option("--export", options->export_to, "Write all records to this file in the end, as text")
      ->type_name("FILE");
  verb->add_flag("--json", options->json, "Print the result as JSON");
  verb->callback([options, &selected] {
    options->program = selected.program;
    selected.run = [options] { return tune(*options); };
  });
}

}  // namespace relay::cli
