// Importing TFLite: a model file becomes a Relay module with one function, @main.
//
//   Result<ImportedModel> model = load("net.tflite", {.shapes = {{"input", {1, 224, 224, 3}}}});
//
// The module is described in frontend/common/import.h. Images keep the order of the file, (N, H, W, C). Operators are
// converted by the functions listed in operators.def. Quantised tensors are tensors of integers, as in the file. If the
// model has variables, @main has the attributes `state_names`, and `state_starts`: the number with which each is filled
// before the first run.
#pragma once

#include <string_view>

#include "relay/frontend/common/import.h"
#include "relay/frontend/tflite/custom_node.h"

namespace relay::tflite {

using frontend::CheckReport;
using frontend::ImportedModel;  // @main also has the attribute `producer`
using frontend::ImportOptions;

// True for the first bytes of a model; 8 are enough.
bool is_model(std::string_view head);

// Reports all diagnostics that can be found: every operator that cannot be imported, then every node that fails for
// another reason.
Result<ImportedModel> load(const std::string& path, const ImportOptions& options = {});
// `customs`: the meaning of custom operators, by name.
Result<ImportedModel> load(const std::string& path, const ImportOptions& options, const CustomConverters& customs);

// The diagnostics of load(), and the operators that the model uses.
Result<CheckReport> check(const std::string& path, const ImportOptions& options = {});

}  // namespace relay::tflite
