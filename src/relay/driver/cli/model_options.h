// The options that most verbs share: which model, which shapes, for which machine, how hard to try.
#pragma once

#include "relay/driver/cli/cli.h"
#include "relay/driver/compile.h"
#include "relay/driver/load.h"

namespace relay::cli {

struct ModelOptions {
  std::string model;
  std::vector<std::string> shapes;
  std::vector<std::string> import_limits;  // NAME=N
  std::string target = "native";
  int threads = 0;
  int opt_level = driver::default_opt_level;
  std::string mode = driver::name(driver::Mode::Inference);
  std::string numerics = "fp32";
  std::vector<std::string> schedules;  // GROUP=FILE
  std::string external;
  bool no_batch_calls = false;
  bool strict = false;
};

void add_model(CLI::App& verb, ModelOptions& options, const char* what = "ONNX file or Relay program");
void add_compile_options(CLI::App& verb, ModelOptions& options);

// The options among those that have no effect on an artifact, which is compiled already, and are given.
std::vector<std::string> given_compile_options(const CLI::App& verb);
// Refuses them for an artifact. `form`: of a model that was read; none: looks at the file. Of a pipe nothing is known
// before.
Status refuse_for_artifact(const std::string& model, const std::vector<std::string>& given,
                           std::optional<driver::ModelForm> form = {});

// Of --import-limit, by name.
Result<std::map<std::string, int64_t>> import_limits(const ModelOptions& options);

// Reads the model; warnings go to stderr. Shapes given by --shape are bound.
Result<driver::Model> load(const ModelOptions& options, std::optional<runtime::Executor> executor = {});
Result<driver::LoadOptions> load_options(const ModelOptions& options, std::optional<runtime::Executor> executor = {});
// What compile() takes. The names of the outputs are the model's.
Result<driver::CompileOptions> compile_options(const ModelOptions& options,
                                               const std::vector<std::string>& output_names = {});

// "12 kernels (34 calls a run, 5 on weights done once) on zen4, 512-bit vectors avx2 ...; 2 threads"
std::string summary(const driver::CompileReport& report);
// "graph executor", "virtual machine", "aot executor".
const char* in_words(runtime::Executor executor);
// The notes and warnings of a compilation, a line each.
void say_notes(const driver::CompileReport& report);

}  // namespace relay::cli
