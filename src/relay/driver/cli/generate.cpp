// relay generate: text from a decoder. The package relay.decoding does the work, in a Python that takes this process's
// place; this file describes the options, which it passes as JSON.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "relay/driver/cli/cli.h"
#include "relay/input/python.h"

namespace relay::cli {

namespace {
using Json = nlohmann::ordered_json;

struct GenerateOptions {
  std::string model, program;
  Json given = Json::object();  // the options that were given, by the names of relay.generate
};
}  // namespace

static Status continue_in_python(const GenerateOptions& options) {
  const std::vector<std::string> interpreters = input::python_interpreters(options.program);
  const std::optional<std::string> python = input::python_with(interpreters, {"relay", "tokenizers"});
  if (!python)
    return Diagnostic{DiagnosticKind::bad_option,
                      "no Python with the packages relay and tokenizers was found",
                      {},
                      {},
                      {format("tried: {}", join(interpreters, ", "))},
                      "pip install tokenizers, or name another Python with RELAY_PYTHON=/path/to/python"};
  Json all = options.given;
  all["model"] = options.model;
  all["quiet"] = is_quiet();
  const std::string text = all.dump(-1, ' ', false, Json::error_handler_t::replace);
  const char* words[] = {python->c_str(), "-m", "relay.decoding", text.c_str(), nullptr};
  execvp(words[0], const_cast<char* const*>(words));
  return Diagnostic{DiagnosticKind::file_not_found,
                    format("{} cannot be started: {}", *python, std::strerror(errno)),
                    {},
                    {},
                    {},
                    "name another interpreter with RELAY_PYTHON=/path/to/python"};
}

// Adds options whose values go to Python as they are, if they are given.
template <class T>
static CLI::Option* add_value(CLI::App& verb, GenerateOptions& options, const char* flag, const char* name,
                              const char* what) {
  return verb.add_option_function<T>(flag, [&options, name](const T& value) { options.given[name] = value; }, what);
}

static void add_sampling(CLI::App& verb, GenerateOptions& options) {
  add_value<double>(verb, options, "--temperature", "temperature", "Divides the logits; 0: the most probable token [0]")
      ->check(CLI::Range(0.0, 100.0));
  add_value<int64_t>(verb, options, "--top-k", "top_k", "Choose among the K most probable tokens; 0: all [0]")
      ->type_name("K")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 31));
  add_value<double>(verb, options, "--top-p", "top_p", "Choose among the first tokens whose probabilities sum to P [1]")
      ->type_name("P")
      ->check(CLI::Range(0.0, 1.0));
  add_value<double>(verb, options, "--min-p", "min_p", "Choose among tokens of at least P times the best one's [0]")
      ->type_name("P")
      ->check(CLI::Range(0.0, 1.0));
  add_value<double>(verb, options, "--repetition-penalty", "repetition_penalty",
                    "Makes the last 64 tokens less probable; 1: as they are [1]")
      ->check(CLI::Range(0.01, 100.0));
  add_value<int64_t>(verb, options, "--seed", "seed", "Seed of the random numbers; another one each time by default")
      ->check(CLI::NonNegativeNumber);
}

void add_generate(CLI::App& app, SelectedVerb& selected) {
  CLI::App* verb = add_verb(app, "generate", "Generate text with a language model",
                            "  relay generate model.gguf --prompt 'The capital of France is'\n"
                            "  relay generate folder --chat --prompt 'Why is the sky blue?' --temperature 0.7\n"
                            "  relay generate model.gguf < text.txt                 continue a text\n"
                            "MODEL is a GGUF file, or a folder with config.json, safetensors files and\n"
                            "tokenizer.json; docs/generate.md lists the families. The text goes to stdout.");
  std::shared_ptr<GenerateOptions> options = std::make_shared<GenerateOptions>();
  options->program = selected.program;
  verb->add_option("MODEL", options->model, "GGUF file, or folder of a model")->required();
  add_value<std::string>(*verb, *options, "-p,--prompt", "prompt", "The text to continue; read from stdin by default");
  verb->add_flag_callback(
      "--chat", [options = options.get()] { options->given["chat"] = true; },
      "The prompt is a message of a chat, in the model's template");
  add_value<std::string>(*verb, *options, "--system", "system", "A message of the system in front, with --chat");
  add_value<int64_t>(*verb, *options, "-n,--max-tokens", "max_tokens", "Greatest number of tokens to generate [256]")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  add_value<std::vector<std::string>>(*verb, *options, "--stop", "stop", "End before this text; may be repeated");
  add_value<int64_t>(*verb, *options, "--context", "context", "Positions of prompt and answer; the model's by default")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  add_sampling(*verb, *options);
  add_value<int64_t>(*verb, *options, "--speculate", "speculate",
                     "Number of tokens to propose in each step, taken from what followed the same words earlier [0]")
      ->check(CLI::Range(0, 64));
  add_value<std::string>(*verb, *options, "--draft", "draft", "A smaller model of the same tokens that proposes");
  add_value<int64_t>(*verb, *options, "--threads", "threads", "Number of threads; 0: all cores [0]")
      ->check(CLI::Range(0, 1024));
  add_value<std::string>(*verb, *options, "--kv-cache", "kv_cache",
                         "Type in which keys and values of earlier tokens are kept: float32, or int8 [float32]")
      ->check(CLI::IsMember({"float32", "int8"}));
  add_value<std::string>(*verb, *options, "--precision", "precision",
                         "int8_inputs: round the inputs of products with weights of four bits to 8 bits in blocks, "
                         "which is faster and adds an error of about 0.6 % to each product [as_written]")
      ->check(CLI::IsMember({"as_written", "int8_inputs"}));
  add_value<std::string>(*verb, *options, "--weights", "weights",
                         "bf16, int8 or int4: round matrices of wider floats, so that a step reads less memory. "
                         "Integers have a scale for each 32 neighbours of a row [as_stored]")
      ->check(CLI::IsMember({"as_stored", "bf16", "int8", "int4"}));
  verb->add_flag_callback(
      "--no-cache", [options = options.get()] { options->given["cache"] = false; },
      "Neither look for the compiled model in the cache nor store it there");
  verb->add_flag_callback(
      "--json", [options = options.get()] { options->given["json"] = true; },
      "Print the answer, its tokens and the speeds as JSON");
  verb->callback([options, &selected] { selected.run = [options] { return continue_in_python(*options); }; });
}

}  // namespace relay::cli
