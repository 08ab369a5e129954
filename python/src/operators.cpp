// The operators, and calls of them.
#include "convert.h"
#include "relay/base/suggest.h"
#include "relay/op/registry.h"

namespace relay::python {

// --- places ----------------------------------------------------------------------------------------------------------
static bool is_ours(const nb::object& frame) {
  nb::dict globals = nb::cast<nb::dict>(frame.attr("f_globals"));
  nb::object module = globals.contains("__name__") ? nb::object(globals["__name__"]) : nb::none();
  if (!nb::isinstance<nb::str>(module)) return false;
  std::string name = nb::cast<std::string>(module);
  return name == "relay" || name.starts_with("relay.");
}

static thread_local Span given_place;

Span span_here() {
  if (given_place) return given_place;
  nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame.is_valid() && !frame.is_none() && is_ours(frame)) frame = frame.attr("f_back");
  if (!frame.is_valid() || frame.is_none()) return {};
  PyFrameObject* raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
  nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
  Span span;
  span.node = std::make_shared<const std::string>(
      format("{}:{}", nb::cast<std::string>(code.attr("co_filename")), PyFrame_GetLineNumber(raw)));
  return span;
}

struct Place {
  std::string name;
  std::optional<uint32_t> line, column, end_line, end_column;
};

// A place in a text, or that of "name:1:2-1:9", as Span(name, 1, 1, 2, 9) writes it.
static Place place_of(const Span& s) {
  if (s.source) {
    auto [line, column] = line_column(*s.source, s.begin);
    auto [end_line, end_column] = line_column(*s.source, s.end);
    return {s.source->name, line, column, end_line, end_column};
  }
  if (!s.node) return {};
  Place out{*s.node, {}, {}, {}, {}};
  std::string rest = *s.node;
  std::optional<uint32_t>* const numbers[] = {&out.end_column, &out.end_line, &out.column, &out.line};
  for (size_t i = 0; i < 4; ++i) {
    const size_t at = rest.find_last_not_of("0123456789");
    if (at == std::string::npos || at == 0 || at + 1 == rest.size() || rest.size() - at > 10 ||
        rest[at] != (i == 1 ? '-' : ':'))
      return {*s.node, {}, {}, {}, {}};
    *numbers[i] = static_cast<uint32_t>(std::stoul(rest.substr(at + 1)));
    rest.resize(at);
  }
  out.name = rest;
  return out;
}

static void add_spans(nb::module_& m) {
  nb::class_<Span>(m, "Span",
                   "A source place: in a text, the name of a node of an imported model, or a line of Python.")
      .def(
          "__init__",
          [](Span* self, const std::string& source_name, std::optional<uint32_t> line, std::optional<uint32_t> end_line,
             std::optional<uint32_t> column, std::optional<uint32_t> end_column) {
            new (self) Span;
            std::string place = line ? format("{}:{}", source_name, *line) : source_name;
            if (column) place += format(":{}", *column);
            if (column && end_line && end_column) place += format("-{}:{}", *end_line, *end_column);
            self->node = std::make_shared<const std::string>(std::move(place));
          },
          nb::arg("source_name"), nb::arg("line") = nb::none(), nb::arg("end_line") = nb::none(),
          nb::arg("column") = nb::none(), nb::arg("end_column") = nb::none(),
          "A place outside of a text, such as a node of an imported model.")
      .def_prop_ro("source_name", [](const Span& s) { return place_of(s).name; })
      .def_prop_ro("line", [](const Span& s) { return place_of(s).line; })
      .def_prop_ro("column", [](const Span& s) { return place_of(s).column; })
      .def_prop_ro("end_line", [](const Span& s) { return place_of(s).end_line; })
      .def_prop_ro("end_column", [](const Span& s) { return place_of(s).end_column; })
      .def("__eq__",
           [](const Span& s, nb::handle other) {
             if (!nb::isinstance<Span>(other)) return false;
             const Span& o = nb::cast<const Span&>(other);
             if (s.source || o.source) return s.source == o.source && s.begin == o.begin && s.end == o.end;
             return (s.node ? *s.node : "") == (o.node ? *o.node : "");
           })
      .def("__hash__",
           [](const Span& s) {
             return s.source ? std::hash<const void*>()(s.source.get()) ^ s.begin
                             : std::hash<std::string>()(s.node ? *s.node : "");
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
    one["differentiable"] = def->gradient || def->definition, one["is_extension"] = def->is_extension,
    one["attributes"] = attributes;
    one["accuracy"] = def->accuracy ? nb::object(nb::make_tuple(def->accuracy->float32, def->accuracy->float64))
                                    : nb::object(nb::none());
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
  return value_or_throw(op::call(find_operator(name).name, std::move(args), attrs, span_here()));
}

void add_operators(nb::module_& m) {
  add_spans(m);
  m.def(
      "suggestions",
      [](const std::string& name, const std::vector<std::string>& candidates, size_t most) {
        return suggestions(name, candidates, most);
      },
      nb::arg("name"), nb::arg("candidates"), nb::arg("most"),
      "The candidates for a misspelt name, the nearest first.");
  m.def(
      "set_place", [](const std::optional<Span>& place) { return std::exchange(given_place, place ? *place : Span{}); },
      nb::arg("place") = nb::none(),
      "Sets the place of the nodes that this thread creates, instead of the current line. Returns the previous place.");
  m.def("operators", operators);
  m.def(
      "call",
      [](const std::string& name, ir::Exprs args, nb::dict attributes) {
        return call_operator(name, std::move(args), to_attrs(attributes));
      },
      nb::arg("op"), nb::arg("args"), nb::arg("attributes"), "Calls an operator by name.");
}

}  // namespace relay::python
