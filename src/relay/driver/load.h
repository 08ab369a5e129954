// Reads a model of any form: a foreign model (frontends.def), a Relay program or a compiled artifact.
//
//   Result<Model> model = load_model("net.onnx", {.import = {.shapes = {{"input", {8, 3, 224, 224}}}}});
#pragma once

#include <functional>
#include <map>

#include "relay/driver/form.h"
#include "relay/driver/options.h"
#include "relay/input/inputs.h"
#include "relay/ir/expr.h"
#include "relay/runtime/artifacts/artifact.h"

namespace relay::driver {

struct Model {
  std::string path;
  std::vector<std::string> files;  // the files that were read: the path, and those with weights
  ModelForm form = ModelForm::Relay;
  ir::Module module;                                // Relay, foreign models
  std::vector<std::string> output_names;            // of foreign models; else empty
  std::vector<std::string> output_nodes;            // of foreign models with all_values: the node of each output
  std::shared_ptr<runtime::Executable> executable;  // Artifact, if its machine code is loaded; also:
  runtime::Artifact artifact;
  ir::Module interface;  // @main with its parameters and an empty body, and the data types
  Diagnostics warnings;
  double ms = 0;  // time of reading it
  // The module with the types of the inputs (inputs.h).
  const ir::Module& types() const { return form == ModelForm::Artifact ? interface : module; }
};

// Refuses a layout for a form whose images keep their order. `path` is for the message.
Status check_layout(const std::string& path, ModelForm form, const std::string& layout);
// The form by content and extension; a diagnostic if it cannot be determined.
Result<ModelForm> form_of(const std::string& path);
Result<Model> load_model(const std::string& path, const Options& options = {});
// Reads a model from bytes. `name` is for messages; weights in other files are searched for next to it.
Result<Model> load_model(const std::string& name, std::string_view bytes, const Options& options = {});
// The form of these bytes, by content alone.
Result<ModelForm> form_of(const std::string& name, std::string_view bytes);

// The package that Python needs to read models of this form (python_formats.def): "torch" for programs of PyTorch; null
// for forms that the program reads itself.
const char* python_package(ModelForm form);
// Reads a model of a form that only Python can read. The Python package sets it while it runs the command line; without
// it, load_model() refuses such files.
struct PythonModel {
  ir::Module module;
  std::vector<std::string> files;  // that were read
};
using PythonImporter = std::function<Result<PythonModel>(
    const std::string& path, const std::map<std::string, std::vector<int64_t>>& shapes, const std::string& layout)>;
void set_python_importer(PythonImporter importer);
bool has_python_importer();

// Fills in the fields of a model that is an artifact. Without options.make_executable its machine code is not loaded.
// Then it may be for another processor, and `executable` is null.
Status load_artifact(Model& model, const std::string& path, const RunOptions& options);
// The text of a note of an artifact; corrupt_file if it has none.
Result<std::string> note(const runtime::Artifact& artifact, const std::string& name);

// The module with the parameters of @main at these shapes: shape variables and `?` become numbers everywhere.
Result<ir::Module> bind_shapes(const ir::Module& module, const std::map<std::string, std::vector<int64_t>>& shapes);

}  // namespace relay::driver
