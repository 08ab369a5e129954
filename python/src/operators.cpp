// The operators, and building calls of them.
#include "convert.h"
#include "relay/op/registry.h"

namespace relay::python {

// --- places ----------------------------------------------------------------------------------------------------------
static bool is_ours(PyFrameObject* frame) {
  nb::dict globals = nb::steal<nb::dict>(PyFrame_GetGlobals(frame));
  nb::object module = globals.contains("__name__") ? nb::object(globals["__name__"]) : nb::none();
  if (!nb::isinstance<nb::str>(module)) return false;
  std::string name = nb::cast<std::string>(module);
  return name == "relay" || name.starts_with("relay.");
}

Span span_here() {
  nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame.is_valid() && is_ours(reinterpret_cast<PyFrameObject*>(frame.ptr())))
    frame = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(reinterpret_cast<PyFrameObject*>(frame.ptr()))));
  if (!frame.is_valid()) return {};
  PyFrameObject* raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
  nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
  Span span;
  span.node = std::make_shared<const std::string>(
      format("{}:{}", nb::cast<std::string>(code.attr("co_filename")), PyFrame_GetLineNumber(raw)));
  return span;
}

static void add_spans(nb::module_& m) {
  nb::class_<Span>(m, "Span", "A place: of a text, or the name of a node of a foreign model or a line of Python.")
      .def(
          "__init__",
          [](Span* self, const std::string& source_name, std::optional<uint32_t> line, std::optional<uint32_t> end_line,
             std::optional<uint32_t> column, std::optional<uint32_t> end_column) {
            new (self) Span;
            std::string place = line ? format("{}:{}", source_name, *line) : source_name;
            self->node = std::make_shared<const std::string>(column ? format("{}:{}", place, *column) : place);
          },
          nb::arg("source_name"), nb::arg("line") = nb::none(), nb::arg("end_line") = nb::none(),
          nb::arg("column") = nb::none(), nb::arg("end_column") = nb::none(),
          "A place that is not a node's of a text; where it ends is not kept.")
      .def_prop_ro("source_name",
                   [](const Span& s) {
                     if (s.source) return s.source->name;
                     return s.node ? *s.node : std::string();
                   })
      .def_prop_ro("line",
                   [](const Span& s) -> std::optional<uint32_t> {
                     if (!s.source) return {};
                     return line_column(*s.source, s.begin).first;
                   })
      .def_prop_ro("column",
                   [](const Span& s) -> std::optional<uint32_t> {
                     if (!s.source) return {};
                     return line_column(*s.source, s.begin).second;
                   })
      .def("__repr__", [](const Span& s) {
        if (!s.source) return s.node ? *s.node : std::string();
        auto [line, column] = line_column(*s.source, s.begin);
        return format("{}:{}:{}", s.source->name, line, column);
      });
}

// --- operators -------------------------------------------------------------------------------------------------------
static nb::list operators() {
  nb::list out;
  for (const op::OpDef* def : op::all()) {
    nb::list inputs, attributes;
    for (const op::Input& input : def->inputs) inputs.append(nb::make_tuple(input.name, input.doc, input.is_tuple));
    if (def->attrs_type)
      for (const ir::AttrField& field : def->attrs_type->fields)
        attributes.append(
            nb::make_tuple(field.name, field.doc, field.type_name, field.required, from_attr(field.default_value)));
    nb::dict one;
    one["name"] = def->name, one["doc"] = def->doc, one["fusion"] = op::name(def->fusion), one["inputs"] = inputs,
    one["differentiable"] = def->gradient || def->definition, one["ours"] = def->ours, one["attributes"] = attributes;
    nb::list examples;
    for (const op::Example& example : def->examples)
      if (!example.bench) examples.append(nb::make_tuple(example.inputs, example.attrs));
    one["examples"] = examples;
    out.append(one);
  }
  return out;
}

const op::OpDef& find_operator(const std::string& name) {
  if (const op::OpDef* def = op::find(name)) return *def;
  std::vector<std::string> names;
  for (const op::OpDef* d : op::all()) names.push_back(d->name);
  std::optional<std::string> near = nearest(name, names);
  throw CompileError(
      {Diagnostic{DiagnosticKind::unknown_operator,
                  format("there is no operator '{}'", name),
                  span_here(),
                  {},
                  {},
                  near ? format("did you mean '{}'?", *near) : "docs/operators.md lists the operators"}});
}

ir::Expr call_operator(const std::string& name, ir::Exprs args, const NamedAttrs& attrs) {
  return take(op::call(find_operator(name).name, std::move(args), attrs, span_here()));
}

void add_operators(nb::module_& m) {
  add_spans(m);
  m.def("operators", operators);
  m.def(
      "call",
      [](const std::string& name, ir::Exprs args, nb::dict attributes) {
        return call_operator(name, std::move(args), to_attrs(attributes));
      },
      nb::arg("op"), nb::arg("args"), nb::arg("attributes"), "Calls an operator by name.");
}

}  // namespace relay::python
