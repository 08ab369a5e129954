// TFLite models with custom operators whose meaning Python functions give.
#include <cerrno>
#include <cstring>

#include "callback.h"
#include "convert.h"
#include "relay/frontend/tflite/import.h"
#include "relay/input/files.h"
#include "relay/typing/typing.h"

namespace relay::python {

using tflite::CustomNode;

static nb::list scales(const std::vector<CustomNode::Scale>& given) {
  nb::list made;
  for (const CustomNode::Scale& one : given)
    made.append(one.scale == 0 ? nb::none() : nb::object(nb::make_tuple(one.scale, one.zero_point)));
  return made;
}

static nb::dict attributes_of(const CustomNode& node) {
  nb::dict made;
  for (const auto& [name, value] : node.options) made[nb::cast(std::string(name))] = from_attr(value);
  made["custom_options"] = nb::bytes(node.bytes.data(), node.bytes.size());
  nb::list results;
  for (const ir::Type& type : node.results) results.append(type ? nb::cast(type) : nb::none());
  made["result_types"] = results;
  made["input_scales"] = scales(node.input_scales);
  made["result_scales"] = scales(node.result_scales);
  return made;
}

static Result<ir::Exprs> converted(const nb::object& function, const CustomNode& node) {
  ir::Exprs made;
  Status called =
      call_python(DiagnosticKind::bad_option, "the given function", "mend it, or leave it out", [&]() -> Status {
        nb::list inputs;
        for (const ir::Expr& e : node.inputs) inputs.append(e ? nb::cast(e) : nb::none());
        nb::object given = function(inputs, attributes_of(node));
        if (!nb::isinstance<nb::list>(given) && !nb::isinstance<nb::tuple>(given)) given = nb::make_tuple(given);
        for (nb::handle one : given) made.push_back(nb::cast<ir::Expr>(one));
        return ok();
      });
  RELAY_RETURN_IF_ERROR(called);
  for (const ir::Expr& e : made) RELAY_RETURN_IF_ERROR(typing::infer_expr(e));
  return made;
}

void add_tflite(nb::module_& m) {
  m.def(
      "load_tflite",
      [](const std::string& name, std::optional<nb::bytes> bytes,
         const std::map<std::string, std::vector<int64_t>>& shapes, const std::map<std::string, std::string>& dtypes,
         const std::map<std::string, int64_t>& import_limits, const std::map<std::string, nb::object>& functions) {
        frontend::ImportOptions options;
        options.shapes = shapes;
        options.limits = value_or_throw(frontend::import_limits(import_limits));
        for (const auto& [input, dtype] : dtypes) options.dtypes[input] = to_dtype(dtype);
        std::optional<input::MemoryFile> file;
        if (bytes) {
          file.emplace(std::string_view(bytes->c_str(), bytes->size()));
          if (!file->whole())
            throw CompileError(
                Diagnostics{Diagnostic{DiagnosticKind::out_of_memory,
                                       format("{} cannot be kept in memory: {}", name, std::strerror(errno)),
                                       {},
                                       {},
                                       {},
                                       "write it to a file, and give the path of that file"}});
          options.content = file->path();
        }
        tflite::CustomConverters customs;
        for (const auto& [op, function] : functions)
          customs[op] = [held = GilObject(function)](const CustomNode& node) { return converted(*held, node); };
        nb::gil_scoped_release released;
        frontend::ImportedModel model = value_or_throw(tflite::load(name, options, customs));
        return PyModule{std::move(model.module), std::move(model.output_names),
                        bytes ? std::vector<std::string>{} : std::vector{name}};
      },
      nb::arg("name"), nb::arg("bytes").none(), nb::arg("shapes"), nb::arg("dtypes"), nb::arg("import_limits"),
      nb::arg("functions"), "A TFLite model; functions give custom operators their meaning, by name.");
}

}  // namespace relay::python
