#include "relay/driver/load.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "relay/driver/compile.h"
#include "relay/driver/frontends.h"
#include "relay/input/files.h"
#include "relay/input/foreign_files.h"
#include "relay/ir/main_function.h"
#include "relay/ir/rewrite.h"
#include "relay/ir/substitute_dims.h"
#include "relay/measure/measure.h"
#include "relay/runtime/artifacts/artifact.h"
#include "relay/scalar/simplify.h"
#include "relay/text/text.h"
#include "relay/typing/typing.h"

namespace relay::driver {

// The first bytes of a compiled artifact.
static constexpr std::string_view artifact_magic("\x89RELAY\r\n", 8);

static constexpr const char* known_forms =
    "ONNX models end in .onnx, Relay programs in .relay, .rly or .txt, models of DarkNet in .cfg, Caffe in .prototxt, "
    "Caffe2 in .pb, MXNet in -symbol.json, PaddlePaddle in .pdmodel or .json, OneFlow in model.mlir, Core ML in "
    ".mlmodel "
    "or .mlpackage; TFLite, Keras and TensorFlow models, compiled artifacts, exported programs of PyTorch and "
    "TorchScript "
    "are known by their content";

Result<ModelForm> form_of(const std::string& path) {
  if (input::is_saved_model(path)) return ModelForm::TensorFlow;
  if (input::is_oneflow_folder(path)) return ModelForm::OneFlow;
  if (input::is_paddle_folder(path)) return ModelForm::Paddle;
  if (input::is_coreml_package(path)) return ModelForm::CoreML;
  // Infinite files are not models; load_model() reads pipes to determine their form.
  std::error_code unknown;
  if (std::filesystem::file_status about = std::filesystem::status(path, unknown);
      std::filesystem::exists(about) && !std::filesystem::is_regular_file(about))
    return Diagnostic{
        DiagnosticKind::file_not_found,
        format("{} is {}", path, std::filesystem::is_directory(about) ? "a folder, not a file" : "not a file"),
        {},
        {},
        {},
        "give the path of a model: an .onnx or .tflite file, a SavedModel, an .mlpackage, a Relay program or an "
        "artifact"};
  // read_file reports errors of a path; only the first bytes matter here.
  std::ifstream file(path, std::ios::binary);
  char bytes[64] = {};
  file.read(bytes, sizeof bytes);
  std::string_view head(bytes, static_cast<size_t>(file.gcount()));
  if (!file && file.gcount() == 0) {
    RELAY_ASSIGN(std::string content, input::read_file(path));
    if (content.empty())
      return Diagnostic{DiagnosticKind::corrupt_file,      format("{} is empty", path), {}, {}, {},
                        "write or download the file again"};
    head = head.substr(0, 0);
  }
  if (starts_with(head, artifact_magic)) return ModelForm::Artifact;
#define RELAY_PYTHON_FORMAT(form, name, package, is_model) \
  if (input::is_model(path, head)) return ModelForm::form;
#include "relay/driver/python_formats.def"
#undef RELAY_PYTHON_FORMAT
  const Frontend* known = frontend_by_content(head);
  if (known && known->form != ModelForm::Onnx) return known->form;  // ONNX's first bytes may also begin a text
  size_t dot = path.rfind('.');
  std::string extension = dot == std::string::npos || path.find('/', dot) != std::string::npos ? "" : path.substr(dot);
  const bool is_relay = extension == ".relay" || extension == ".rly" || extension == ".txt";
  if (is_relay || starts_with(trim(head), "#[version")) return ModelForm::Relay;
  if (std::optional<input::ForeignFile> foreign =
          input::foreign_file(head, frontend_by_extension(extension) ? "" : extension))
    return Diagnostic{DiagnosticKind::bad_option,
                      format("{} is not a model that can be read: it is {}", path, foreign->kind),
                      {},
                      {},
                      {known_forms},
                      foreign->to_use};
  if (const Frontend* named = frontend_by_extension(extension)) return named->form;
  return Diagnostic{DiagnosticKind::bad_option,
                    extension.empty() ? format("the kind of file {} is unknown", path)
                                      : format("the kind of file {} is unknown: it ends in '{}'", path, extension),
                    {},
                    {},
                    {known_forms},
                    "convert it to ONNX, or rename it if it has one of these formats"};
}

// --- shapes ----------------------------------------------------------------------------------------------------------
static Result<ir::Type> bound_type(const ir::VarRef& param, const std::vector<int64_t>& shape,
                                   std::vector<scalar::Binding>& bindings) {
  ir::Type type = param->annotation ? param->annotation : param->type;
  const ir::TensorType* tensor = ir::as<ir::TensorType>(type);
  if (!tensor || tensor->shape.size() != shape.size())
    return Diagnostic{
        DiagnosticKind::wrong_input,
        format("input `{}` is {}: the shape ({}) does not match", param->name, ir::str(type), join(shape, ", ")),
        param->span,
        {},
        {},
        "give one size for each dimension of a tensor"};
  for (int64_t size : shape)
    if (size < -1)
      return Diagnostic{
          DiagnosticKind::bad_option,
          format("the shape given for input `{}`, ({}), has a negative size", param->name, join(shape, ", ")),
          param->span,
          {},
          {},
          "give sizes, or -1 to keep a size of the program"};
  ir::Dims dims = tensor->shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 0 || scalar::is_int(dims[d], shape[d])) continue;
    scalar::Expr value = scalar::imm(shape[d]);
    if (scalar::is_var(dims[d])) {
      bool known = false;
      for (const scalar::Binding& b : bindings) {
        if (b.var != dims[d]) continue;
        known = true;
        if (!scalar::is_int(b.value, shape[d]))
          return Diagnostic{DiagnosticKind::wrong_input,
                            format("dimension `{}` is given as {} and as {}", dims[d]->name, b.value->ivalue, shape[d]),
                            param->span,
                            {},
                            {},
                            "a dimension has the same size in all inputs: give the same size"};
      }
      if (!known) bindings.push_back({dims[d], value});
    } else if (!scalar::is_any(dims[d])) {
      return Diagnostic{DiagnosticKind::wrong_input,
                        format("input `{}` is {}: dimension {} cannot be {}", param->name, ir::str(type), d, shape[d]),
                        param->span,
                        {},
                        {},
                        "the program fixes the size: change it there"};
    }
    dims[d] = value;
  }
  return ir::tensor_type(std::move(dims), tensor->dtype);
}

Result<ir::Module> bind_shapes(const ir::Module& module, const std::map<std::string, std::vector<int64_t>>& shapes) {
  if (shapes.empty()) return module;
  std::map<std::string, ir::FunctionRef>::const_iterator main = module.functions.find(ir::main_function);
  if (main == module.functions.end())
    return Diagnostic{DiagnosticKind::unknown_global,
                      "shapes are given for the inputs of @main, but the module has no @main",
                      {},
                      {},
                      {},
                      "name the function @main"};
  const ir::Function& function = *main->second;
  std::vector<scalar::Binding> bindings;
  std::map<std::string, ir::Type> types;
  std::vector<std::string> names;
  for (const ir::VarRef& param : function.params) {
    names.push_back(param->name);
    std::map<std::string, std::vector<int64_t>>::const_iterator given = shapes.find(param->name);
    if (given == shapes.end()) continue;
    RELAY_ASSIGN(types[param->name], bound_type(param, given->second, bindings));
  }
  for (const auto& [name, shape] : shapes)
    if (!types.count(name)) {
      std::optional<std::string> near = nearest(name, names);
      return Diagnostic{DiagnosticKind::wrong_input,
                        format("the model has no input `{}`", name),
                        {},
                        {},
                        {},
                        near ? format("did you mean `{}`?", *near) : format("the inputs are: {}", join(names, ", "))};
    }

  // Numbers for the variables everywhere; then for each specified `?`.
  RELAY_ASSIGN(ir::FunctionRef bound, ir::substitute_dims(main->second, bindings));
  ir::VarMap replaced;
  std::vector<ir::VarRef> params = bound->params;
  for (ir::VarRef& param : params) {
    std::map<std::string, ir::Type>::const_iterator type = types.find(param->name);
    if (type == types.end() || ir::equal(param->annotation, type->second)) continue;
    ir::VarRef given = ir::var(param->name, type->second, param->span);
    replaced[param.get()] = given;
    param = given;
  }
  if (!replaced.empty())
    bound =
        ir::function(params, ir::substitute(bound->body, replaced), {}, bound->type_params, bound->attrs, bound->span);
  ir::Module out = module;
  out.functions[ir::main_function] = bound;
  typing::forget_types(out);
  return typing::infer(out);
}

Result<std::string> note(const runtime::Artifact& artifact, const std::string& name) {
  for (const runtime::Note& note : artifact.notes)
    if (note.name == name) return note.text;
  return Diagnostic{DiagnosticKind::corrupt_file, format("the artifact has no note `{}`", name), {}, {}, {},
                    "compile the model again"};
}

Status load_artifact(Model& model, const std::string& path, const RunOptions& options) {
  RELAY_ASSIGN(model.artifact, runtime::open_artifact(path));
  if (options.make_executable) {
    const bool is_fast =
        std::ranges::find(model.artifact.notes, fast_note, &runtime::Note::name) != model.artifact.notes.end();
    const runtime::Tier tier = is_fast ? runtime::Tier::Fast : runtime::Tier::Full;
    RELAY_ASSIGN(model.executable, runtime::load_executable(model.artifact, executable_options(options, tier)));
  }
  model.form = ModelForm::Artifact;
  RELAY_ASSIGN(std::string text, note(model.artifact, interface_note));
  const Result<ir::Module> interface = text::parse(text);
  if (interface) model.interface = *interface;
  std::map<std::string, ir::FunctionRef>::const_iterator main = model.interface.functions.find(ir::main_function);
  const runtime::Program& program = *model.artifact.program;
  const size_t inputs = program.is_graph() ? program.graph().inputs.size() : program.signature.inputs.size();
  if (main == model.interface.functions.end() || main->second->params.size() != inputs)
    return Diagnostic{DiagnosticKind::corrupt_file,
                      format("{}: the note `{}` is not of its program", path, interface_note),
                      {},
                      {},
                      {},
                      "compile the model again"};
  return ok();
}

static Status read_program(Model& model, const Result<ir::Module>& parsed, const Options& options) {
  if (!parsed) return parsed.errors();
  RELAY_ASSIGN(ir::Module module, typing::infer(*parsed, &model.warnings));
  RELAY_ASSIGN(model.module, bind_shapes(module, options.import.shapes));
  return ok();
}

static Result<frontend::ImportOptions> import_options(const Options& options) {
  RELAY_ASSIGN(const frontend::ImportLimits limits, frontend::import_limits(options.import.import_limits));
  return frontend::ImportOptions{.shapes = options.import.shapes,
                                 .dims = {},
                                 .dtypes = options.import.dtypes,
                                 .opset = options.import.opset,
                                 .freeze_params = options.import.freeze_params,
                                 .all_values = options.import.all_values,
                                 .as_written = options.import.as_written,
                                 .without_attributes = options.import.without_attributes,
                                 .limits = limits};
}

static Status read_foreign(Model& model, const frontend::ImportOptions& options) {
  RELAY_ASSIGN(frontend::ImportedModel imported, frontend_of(model.form)->load(model.path, options));
  model.module = std::move(imported.module);
  model.files.insert(model.files.end(), imported.external_files.begin(), imported.external_files.end());
  model.output_names = std::move(imported.output_names);
  model.output_nodes = std::move(imported.output_nodes);
  model.warnings = std::move(imported.warnings);
  return ok();
}

const char* python_package(ModelForm form) {
  switch (form) {
#define RELAY_PYTHON_FORMAT(form, name, package, ...) \
  case ModelForm::form: return package;
#include "relay/driver/python_formats.def"
#undef RELAY_PYTHON_FORMAT
    default: return nullptr;
  }
}

static PythonImporter& python_importer() {
  static PythonImporter importer;
  return importer;
}
void set_python_importer(PythonImporter importer) { python_importer() = std::move(importer); }
bool has_python_importer() { return python_importer() != nullptr; }

static Result<ir::Module> read_by_python(Model& model, const Options& options) {
  if (!has_python_importer())
    return Diagnostic{
        DiagnosticKind::bad_option,
        format("{} is a {}, which only the Python package can read", model.path, name(model.form)),
        {},
        {},
        {},
        format("use `python -m relay` with a Python that has the packages relay and {}", python_package(model.form))};
  RELAY_ASSIGN(PythonModel read, python_importer()(model.path, options.import.shapes, options.import.layout));
  model.files = std::move(read.files);
  return std::move(read.module);
}

// `layout` is a choice for forms whose files have images in the order (N, H, W, C).
Status check_layout(const std::string& path, ModelForm form, const std::string& layout) {
  if (layout.empty() || form == ModelForm::Keras || form == ModelForm::TensorFlow) return ok();
  return Diagnostic{
      DiagnosticKind::bad_option,
      format("the layout {} is given, and {} is a {}, whose images keep their order", layout, path, name(form)),
      {},
      {},
      {},
      "leave it out; a program changes its layout with relay.transform.ConvertLayout"};
}

Result<Model> load_model(const std::string& path, const Options& options) {
  if (input::is_pipe(path)) {
    RELAY_ASSIGN(std::string bytes, input::read_file(path));
    return load_model(path, bytes, options);
  }
  double begin = measure::now();
  Model model;
  model.path = path;
  RELAY_ASSIGN(model.form, form_of(path));
  model.files.push_back(path);
  RELAY_RETURN_IF_ERROR(check_layout(model.path, model.form, options.import.layout));
  RELAY_RETURN_IF_ERROR(frontend::import_limits(options.import.import_limits));
  switch (model.form) {
    case ModelForm::Relay: RELAY_RETURN_IF_ERROR(read_program(model, text::load(path, &model.files), options)); break;
#define RELAY_PYTHON_FORMAT(form, ...) case ModelForm::form:
#include "relay/driver/python_formats.def"
#undef RELAY_PYTHON_FORMAT
      RELAY_RETURN_IF_ERROR(read_program(model, read_by_python(model, options), options));
      break;
    case ModelForm::Artifact: {
      RELAY_RETURN_IF_ERROR(load_artifact(model, path, options.run));
      break;
    }
    default: {
      RELAY_ASSIGN(const frontend::ImportOptions import, import_options(options));
      RELAY_RETURN_IF_ERROR(read_foreign(model, import));
    }
  }
  model.ms = (measure::now() - begin) * 1e3;
  return model;
}

// --- models in memory ------------------------------------------------------------------------------------------------
Result<ModelForm> form_of(const std::string& name, std::string_view bytes) {
  if (bytes.empty())
    return Diagnostic{DiagnosticKind::corrupt_file, format("{} is empty", name), {}, {}, {},
                      "give the bytes of a model"};
  if (starts_with(bytes, artifact_magic)) return ModelForm::Artifact;
  for (const char* begin :
       {"#[version", "def @", "import \"", "type ", "extern ", "//", "/*"})  // the parser needs the version
    if (starts_with(trim(bytes.substr(0, 256)), begin)) return ModelForm::Relay;
  if (const Frontend* known = frontend_by_content(bytes.substr(0, 64))) return known->form;
  if (input::is_tensorflow_model("", bytes.substr(0, 64))) return ModelForm::TensorFlow;
  const std::optional<input::ForeignFile> foreign = input::foreign_file(bytes.substr(0, 64));
  return Diagnostic{
      DiagnosticKind::bad_option,
      format("the kind of model of {} is unknown ({} bytes)", name, bytes.size()),
      {},
      {},
      {format("expected an ONNX or TFLite model, a Relay program with its version line or a compiled artifact: {}",
              foreign ? format("it is {}", foreign->kind) : "the content has none of these formats")},
      foreign ? foreign->to_use : "export the model to ONNX"};
}

// Problems of loading, with messages that name `to` instead of the file that was read, and a remedy.
static Diagnostics no_artifact(Diagnostics problems, const std::string& from, const std::string& to) {
  auto rename = [&](std::string& text) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  };
  for (Diagnostic& d : problems) {
    rename(d.message), rename(d.help);
    for (std::string& note : d.notes) rename(note);
    if (d.help.empty()) d.help = "compile the model it was made from again";
  }
  return problems;
}

Result<Model> load_model(const std::string& name, std::string_view bytes, const Options& options) {
  double begin = measure::now();
  Model model;
  model.path = name;
  RELAY_ASSIGN(model.form, form_of(name, bytes));
  RELAY_RETURN_IF_ERROR(check_layout(model.path, model.form, options.import.layout));
  if (model.form == ModelForm::Relay) {
    std::shared_ptr<const Source> source = std::make_shared<const Source>(Source{name, std::string(bytes)});
    RELAY_RETURN_IF_ERROR(read_program(model, text::parse(source), options));
  } else {
    input::MemoryFile file(bytes);
    if (!file.whole())
      return Diagnostic{DiagnosticKind::out_of_memory,
                        format("{} cannot be kept in memory: {}", name, std::strerror(errno)),
                        {},
                        {},
                        {},
                        "write it to a file, and give the path of that file"};
    if (model.form == ModelForm::TensorFlow) {
      model.path = file.path();
      RELAY_RETURN_IF_ERROR(read_program(model, read_by_python(model, options), options));
      model.path = name;
    } else if (frontend_of(model.form)) {
      RELAY_ASSIGN(frontend::ImportOptions import, import_options(options));
      import.content = file.path();
      RELAY_RETURN_IF_ERROR(read_foreign(model, import));
    } else {
      Status loaded = load_artifact(model, file.path(), options.run);
      if (!loaded) return no_artifact(loaded.errors(), file.path(), name);
    }
  }
  model.ms = (measure::now() - begin) * 1e3;
  return model;
}

}  // namespace relay::driver
