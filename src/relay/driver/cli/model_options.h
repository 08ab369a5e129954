// The options that most verbs share: the model, shapes, the machine and the level of optimisation.
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
  std::vector<std::string> schedules;  // [GROUP=]FILE
  std::string external;
  bool no_batch_calls = false;
  bool strict = false;
};

void add_model(CLI::App& verb, ModelOptions& options, const char* what = "ONNX file or Relay program");
void add_compile_options(CLI::App& verb, ModelOptions& options);

// The specified options that have no effect on an artifact, which is already compiled.
std::vector<std::string> given_compile_options(const CLI::App& verb);
// Refuses these options for an artifact. `form`: of a model that was read; if unset, the file is inspected. The form of
// a pipe is not known before it is read.
Status refuse_for_artifact(const std::string& model, const std::vector<std::string>& given,
                           std::optional<driver::ModelForm> form = {});

// Values of --import-limit, by name.
Result<std::map<std::string, int64_t>> import_limits(const ModelOptions& options);

// Reads the model and binds the shapes of --shape. Warnings go to stderr.
Result<driver::Model> load(const ModelOptions& options, std::optional<runtime::Executor> executor = {});
Result<driver::LoadOptions> load_options(const ModelOptions& options, std::optional<runtime::Executor> executor = {});
// The options of compile(). Output names are the model's.
Result<driver::CompileOptions> compile_options(const ModelOptions& options,
                                               const std::vector<std::string>& output_names = {});

// "12 kernels (34 calls a run, 5 on weights done once) on zen4, 512-bit vectors avx2 ...; 2 threads"
std::string summary(const driver::CompileReport& report);
// "graph executor", "virtual machine", "aot executor".
const char* in_words(runtime::Executor executor);
// Prints the notes and warnings of a compilation, a line each.
void print_notes(const driver::CompileReport& report);

}  // namespace relay::cli
