// The interface of every importer: a foreign model becomes a Relay module with one function, @main.
//
// Parameters are the model's inputs, under their names; weights are constants. A named dimension of the model ("batch")
// is one shape variable wherever it occurs; each unknown one is a separate variable. Every node records its foreign
// node and its type: the module is fully typed.
#pragma once

#include <map>
#include <set>

#include "relay/frontend/common/limits.h"
#include "relay/frontend/common/problems.h"
#include "relay/ir/expr.h"

namespace relay::frontend {

struct ImportOptions {
  // Shapes by input name, which replace those in the file; -1 keeps a dimension of the file.
  std::map<std::string, std::vector<int64_t>> shapes;
  // Values for the model's named dimensions: {"batch", 1}.
  std::map<std::string, int64_t> dims;
  // The file that holds the model, if it differs from the path. The path is then only used in messages and to find
  // files with weights.
  std::string content = {};
  // Element types by input name, which replace those in the file.
  std::map<std::string, DType> dtypes = {};
  // The version of the format's operators, which replaces the file's.
  std::optional<int64_t> opset = {};
  // If true, weights are constants of the module; otherwise they are parameters of @main, after the inputs. Small lists
  // of integers (shapes, axes) are constants in both cases.
  bool freeze_params = true;
  // Bytes. Of a larger weight only type and size are read; its elements are 0.
  int64_t largest_read = INT64_MAX;
  // Makes every tensor that a node of the model's main graph computes an output, under its name and in order, instead
  // of the model's outputs: to find the first one that is wrong.
  bool all_values = false;
  // For `relay check`: if a node fails and the model declares the types of its results, values of these types replace
  // them, so that later nodes are checked too.
  bool past_failures = false;
  // If true, a squeeze without axes removes an axis whose size is a name, which then has to be 1. Otherwise the axis
  // stays, and must not be 1.
  bool squeeze_names = false;
  // If true, nodes that compute on known numbers stand in the module as written: a reference for what importing makes
  // of them. Otherwise the module has only their results.
  bool as_written = false;
  // For tests: operators whose nodes are converted as if they had no attributes, a bug that has to be found.
  std::set<std::string> without_attributes = {};
  ImportLimits limits = {};
};

struct ImportedModel {
  ir::Module module;  // @main; its attributes: input_names, output_names, and those that the importer adds
  std::vector<std::string> input_names;
  std::vector<std::string> output_nodes;    // with all_values: the node that computes each output
  std::vector<std::string> output_names;    // with several outputs, @main returns a tuple in this order
  std::vector<std::string> external_files;  // files of weights besides the model file
  Diagnostics warnings;
};

// The requirements of an import, for `relay check`.
struct CheckReport {
  std::vector<OperatorUse> operators;  // those without a converter first, then by count
  Diagnostics problems;                // the problems that an import would report; empty if the model can be imported
  std::optional<ImportedModel> model;  // set if there are no problems
  bool importable() const { return problems.empty(); }
};

}  // namespace relay::frontend
