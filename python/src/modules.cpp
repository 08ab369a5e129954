// Modules: reading, printing, passes.
#include "core.h"
#include "relay/driver/load.h"
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/text/text.h"
#include "relay/transform/pass.h"

namespace relay::python {

using Shapes = std::map<std::string, std::vector<int64_t>>;

static PyModule parse_module(const std::string& text, const std::string& name) {
  nb::gil_scoped_release released;
  return {take(text::parse(std::make_shared<const Source>(Source{name, text}))), {}};
}

static std::string module_text(const PyModule& m, bool types, bool version, bool weights) {
  nb::gil_scoped_release released;
  NamedTensors left_out;
  return text::str(m.module,
                   {.version = version, .types = types, .weights = weights ? nullptr : &left_out, .weights_file = {}});
}

static PyModule transformed(const PyModule& m, const std::vector<std::string>& passes,
                            const std::map<std::string, int64_t>& options) {
  nb::gil_scoped_release released;
  transform::PassContext context;
  for (const auto& [name, value] : options) context.options[name] = value;
  return {take(transform::run_passes(m.module, passes, context)), m.output_names};
}

static std::vector<std::pair<std::string, std::string>> passes() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const transform::PassInfo& pass : transform::all_passes()) out.emplace_back(pass.name, pass.doc);
  return out;
}

void add_modules(nb::module_& m) {
  nb::class_<PyModule>(m, "Module", "Functions and type definitions by name.")
      .def("astext", module_text, nb::kw_only(), nb::arg("types") = false, nb::arg("version") = true,
           nb::arg("weights") = true,
           "The program as text, which parse() reads. types: with the type of every expression; weights=False: without "
           "the values of large constants.")
      .def("__str__", [](const PyModule& self) { return module_text(self, false, true, false); })
      .def("__repr__",
           [](const PyModule& self) {
             std::vector<std::string> names;
             for (const auto& [name, function] : self.module.functions) names.push_back("@" + name);
             return format("<relay.Module {}>", join(names, " "));
           })
      .def(
          "__eq__", [](const PyModule& a, const PyModule& b) { return ir::equal(a.module, b.module); },
          "Equal up to the names of bound variables.")
      .def("__hash__", [](const PyModule& a) { return ir::hash(a.module); })
      .def_prop_ro(
          "functions",
          [](const PyModule& self) {
            std::vector<std::string> names;
            for (const auto& [name, function] : self.module.functions) names.push_back(name);
            return names;
          },
          "The names of its functions.")
      .def(
          "save",
          [](const PyModule& self, const std::string& path, bool inline_weights) {
            nb::gil_scoped_release released;
            take(text::save(self.module, path, inline_weights));
          },
          nb::arg("path"), nb::kw_only(), nb::arg("inline_weights") = false,
          "Writes a .relay file, and large weights to a .safetensors file beside it.")
      .def(
          "bind_shapes",
          [](const PyModule& self, const Shapes& shapes) {
            nb::gil_scoped_release released;
            return PyModule{take(driver::bind_shapes(self.module, shapes)), self.output_names};
          },
          nb::arg("shapes"), "The module with parameters of @main at these shapes; -1 leaves a dimension as it is.");
  m.def("parse", parse_module, nb::arg("text"), nb::arg("name") = "<text>");
  m.def(
      "form_of", [](const std::string& path) { return std::string(driver::name(take(driver::form_of(path)))); },
      nb::arg("path"));
  m.def(
      "load",
      [](const std::string& path, const Shapes& shapes) {
        nb::gil_scoped_release released;
        driver::Model model = take(driver::load_model(path, {.shapes = shapes, .run = {}}));
        return PyModule{std::move(model.module), std::move(model.output_names)};
      },
      nb::arg("path"), nb::arg("shapes") = Shapes());
  m.def("transform", transformed, nb::arg("module"), nb::arg("passes"),
        nb::arg("options") = std::map<std::string, int64_t>());
  m.def("passes", passes);
}

}  // namespace relay::python
