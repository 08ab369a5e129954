// The options that most verbs share: the model, and the options of its compilation.
#pragma once

#include "relay/driver/cli/option_flags.h"
#include "relay/driver/compile.h"
#include "relay/driver/load.h"

namespace relay::cli {

struct ModelOptions {
  std::string model;
  OptionFlags flags;
  // Values of --shape.
  const std::vector<std::string>& shapes() const { return flags.texts.at("shapes"); }
};

void add_model(CLI::App& verb, ModelOptions& options, const char* what = "ONNX file or Relay program");

// Refuses flags of the compilation for an artifact. `form`: of a model that was read; if unset, the file is inspected.
// The form of a pipe is not known before it is read.
Status refuse_for_artifact(const std::string& model, const std::vector<std::string>& given,
                           std::optional<driver::ModelForm> form = {});

// Reads the model and binds the shapes of --shape. Warnings go to stderr.
Result<driver::Model> load(const ModelOptions& options);
// The options of compile(). Output names are the model's.
Result<driver::Options> compile_options(const ModelOptions& options, const std::vector<std::string>& output_names = {});

// "12 kernels (34 calls a run, 5 on weights done once) on zen4, 512-bit vectors avx2 ...; 2 threads"
std::string summary(const driver::CompileReport& report);
// "graph executor", "virtual machine", "aot executor".
const char* in_words(runtime::Executor executor);
// Prints the notes and warnings of a compilation, a line each.
void print_notes(const driver::CompileReport& report);

}  // namespace relay::cli
