// Importing ONNX: a model file becomes a Relay module with one function, @main.
//
//   Result<ImportedModel> model = load("net.onnx", {.shapes = {{"input", {1, 3, 224, 224}}}});
//
// Parameters are the model's inputs, under their names; weights are constants. A named dimension of the model ("batch") is
// one shape variable wherever it occurs; an unknown one is a variable of its own. Every node knows the ONNX node it comes
// from, and its type: the module is fully typed. Operators of ONNX are converted by the functions listed in operators.def.
#pragma once

#include <map>

#include "relay/ir/expr.h"

namespace relay::onnx {

struct ImportOptions {
  // Shapes by input name, instead of those in the file; -1 keeps a dimension as the file has it.
  std::map<std::string, std::vector<int64_t>> shapes;
  // Values for the model's named dimensions: {"batch", 1}.
  std::map<std::string, int64_t> dims;
  // The file that holds the model, if that is another than the path, which is then only what messages say and where files
  // with weights lie.
  std::string content = {};
};

struct ImportedModel {
  ir::Module module;  // @main; its attributes: input_names, output_names, and producer
  std::vector<std::string> input_names;
  std::vector<std::string> output_names;    // several outputs: @main gives a tuple in this order
  std::vector<std::string> external_files;  // that weights were read from, besides the model's own
  Diagnostics warnings;
};

// All the diagnostics that can be found: every operator that cannot be imported, then every node that fails for a reason
// of its own.
Result<ImportedModel> load(const std::string& path, const ImportOptions& options = {});

// What an import needs, for `relay check`.
struct OperatorUse {
  std::string op;     // "Conv", "com.microsoft.FusedMatMul"
  int64_t opset = 0;  // of its domain
  size_t count = 0;
  bool has_converter = false;
};
struct CheckReport {
  std::vector<OperatorUse> operators;  // those without a converter first, then by count
  std::vector<Diagnostic> problems;    // what load() would report; empty: the model can be imported
  bool importable() const { return problems.empty(); }
};
Result<CheckReport> check(const std::string& path, const ImportOptions& options = {});

}  // namespace relay::onnx
