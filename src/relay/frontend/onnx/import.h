// Importing ONNX: a model file becomes a Relay module with one function, @main.
//
//   Result<ImportedModel> model = load("net.onnx", {.shapes = {{"input", {1, 3, 224, 224}}}});
//
// The module is described in frontend/common/import.h. Operators of ONNX are converted by the functions listed in
// operators.def.
#pragma once

#include <string_view>

#include "relay/frontend/common/import.h"

namespace relay::onnx {

using frontend::CheckReport;
using frontend::ImportedModel;  // @main also has the attribute `producer`
using frontend::ImportOptions;

// True for the first byte of a model: one of the fields ir_version, producer_name, graph, opset_import.
bool is_model(std::string_view head);

// Reports all diagnostics that can be found: every operator that cannot be imported, then every node that fails for
// another reason.
Result<ImportedModel> load(const std::string& path, const ImportOptions& options = {});

// The diagnostics of load(), and the operators that the model uses.
Result<CheckReport> check(const std::string& path, const ImportOptions& options = {});

}  // namespace relay::onnx
