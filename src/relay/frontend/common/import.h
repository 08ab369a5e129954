// What every importer takes and gives: a foreign model becomes a Relay module with one function, @main.
//
// Parameters are the model's inputs, under their names; weights are constants. A named dimension of the model ("batch")
// is one shape variable wherever it occurs; an unknown one is a variable of its own. Every node knows the foreign node
// it comes from, and its type: the module is fully typed.
#pragma once

#include <map>
#include <set>

#include "relay/frontend/common/limits.h"
#include "relay/frontend/common/problems.h"
#include "relay/ir/expr.h"

namespace relay::frontend {

struct ImportOptions {
  // Shapes by input name, instead of those in the file; -1 keeps a dimension as the file has it.
  std::map<std::string, std::vector<int64_t>> shapes;
  // Values for the model's named dimensions: {"batch", 1}.
  std::map<std::string, int64_t> dims;
  // The file that holds the model, if that is another than the path, which is then only what messages say and where
  // files with weights lie.
  std::string content = {};
  // Element types by input name, instead of those in the file.
  std::map<std::string, DType> dtypes = {};
  // The version of the format's operators, instead of the file's.
  std::optional<int64_t> opset = {};
  // Whether weights are constants of the module; else they are parameters of @main, behind the inputs. Small lists of
  // integers (shapes, axes) are constants all the same.
  bool freeze_params = true;
  // In bytes. Of a larger weight nothing but type and size is looked at, and its elements are 0.
  int64_t largest_read = INT64_MAX;
  // Every tensor that a node of the model's own graph gives is an output, under its name and in order, instead of the
  // model's outputs: to find the first one that is wrong.
  bool all_values = false;
  // For `relay check`: where a node fails and the model says of what types its results are, those are taken for them,
  // so that what stands behind it is looked at too.
  bool past_failures = false;
  // Whether a squeeze that names no axes takes one away whose size is a name, which then has to be 1. Else it stays,
  // and must not be.
  bool squeeze_names = false;
  // For tests: operators whose nodes are converted as if they had no attributes, a fault that is to be found.
  std::set<std::string> without_attributes = {};
  ImportLimits limits = {};
};

struct ImportedModel {
  ir::Module module;  // @main; its attributes: input_names, output_names, and what the importer adds
  std::vector<std::string> input_names;
  std::vector<std::string> output_nodes;    // with all_values: which node gives each output
  std::vector<std::string> output_names;    // several outputs: @main gives a tuple in this order
  std::vector<std::string> external_files;  // that weights were read from, besides the model's own
  Diagnostics warnings;
};

// What an import needs, for `relay check`.
struct CheckReport {
  std::vector<OperatorUse> operators;  // those without a converter first, then by count
  Diagnostics problems;                // what an import would report; empty: the model can be imported
  std::optional<ImportedModel> model;  // where there are no problems
  bool importable() const { return problems.empty(); }
};

}  // namespace relay::frontend
