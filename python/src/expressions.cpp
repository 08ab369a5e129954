// Operators with their attributes, and building expressions of them.
#include "core.h"
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/text/text.h"

namespace relay::python {

namespace {
struct PyExpr {
  ir::Expr expr;
};
}  // namespace

// --- attributes -------------------------------------------------------------------------------------------------------------------
static nb::object to_python(const ir::AttrValue& value) {
  if (const bool* b = std::get_if<bool>(&value)) return nb::cast(*b);
  if (const int64_t* i = std::get_if<int64_t>(&value)) return nb::cast(*i);
  if (const double* f = std::get_if<double>(&value)) return nb::cast(*f);
  if (const std::string* s = std::get_if<std::string>(&value)) return nb::cast(*s);
  if (const DType* t = std::get_if<DType>(&value)) return nb::cast(t->str());
  if (const ir::Ints* v = std::get_if<ir::Ints>(&value)) return nb::cast(*v);
  if (const ir::Floats* v = std::get_if<ir::Floats>(&value)) return nb::cast(*v);
  if (const ir::Strings* v = std::get_if<ir::Strings>(&value)) return nb::cast(*v);
  if (const ir::IntLists* v = std::get_if<ir::IntLists>(&value)) return nb::cast(*v);
  if (const ir::Dims* dims = std::get_if<ir::Dims>(&value)) {
    nb::list out;
    for (const ir::Dim& d : *dims) scalar::is_int(d) ? out.append(d->ivalue) : out.append(scalar::str(d));
    return out;
  }
  return nb::none();
}

static ir::AttrValue from_python(nb::handle value, const std::string& name) {
  if (value.is_none()) return std::monostate();
  if (nb::isinstance<nb::bool_>(value)) return nb::cast<bool>(value);
  if (nb::isinstance<nb::int_>(value)) return nb::cast<int64_t>(value);
  if (nb::isinstance<nb::float_>(value)) return nb::cast<double>(value);
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
    ir::Ints ints;
    ir::Floats floats;
    ir::Strings strings;
    ir::IntLists lists;
    size_t count = 0;
    for (nb::handle item : value) {
      ++count;
      if (int64_t i = 0; nb::try_cast<int64_t>(item, i)) ints.push_back(i);
      if (double f = 0; nb::try_cast<double>(item, f)) floats.push_back(f);
      if (nb::isinstance<nb::str>(item)) strings.push_back(nb::cast<std::string>(item));
      if (nb::isinstance<nb::list>(item) || nb::isinstance<nb::tuple>(item))
        if (ir::Ints inner; nb::try_cast<ir::Ints>(item, inner)) lists.push_back(std::move(inner));
    }
    if (ints.size() == count) return ints;
    if (floats.size() == count) return floats;
    if (strings.size() == count) return strings;
    if (lists.size() == count) return lists;
  }
  throw CompileError({Diagnostic{DiagnosticKind::bad_attribute,
                                 format("attribute '{}' cannot be {}", name, nb::cast<std::string>(nb::repr(value)))}});
}

// --- operators --------------------------------------------------------------------------------------------------------------------
static nb::list operators() {
  nb::list out;
  for (const op::OpDef* def : op::all()) {
    nb::list inputs, attributes;
    for (const op::Input& input : def->inputs) inputs.append(nb::make_tuple(input.name, input.doc, input.is_tuple));
    if (def->attrs_type)
      for (const ir::AttrField& field : def->attrs_type->fields)
        attributes.append(
            nb::make_tuple(field.name, field.doc, field.type_name, field.required, to_python(field.default_value)));
    nb::dict one;
    one["name"] = def->name, one["doc"] = def->doc, one["fusion"] = op::name(def->fusion), one["inputs"] = inputs,
    one["attributes"] = attributes;
    nb::list examples;
    for (const op::Example& example : def->examples)
      if (!example.bench) examples.append(nb::make_tuple(example.inputs, example.attrs));
    one["examples"] = examples;
    out.append(one);
  }
  return out;
}

// The place in the user's program: "net.py:12".
static Span span_of(const std::string& where) {
  Span span;
  if (!where.empty()) span.node = std::make_shared<const std::string>(where);
  return span;
}

static PyExpr call_op(const std::string& name, const std::vector<PyExpr>& args, nb::dict attributes,
                      const std::string& where) {
  const op::OpDef* def = op::find(name);
  if (!def) {
    std::vector<std::string> names;
    for (const op::OpDef* d : op::all()) names.push_back(d->name);
    std::optional<std::string> near = nearest(name, names);
    throw CompileError({Diagnostic{DiagnosticKind::unknown_operator,
                                   format("there is no operator '{}'", name),
                                   span_of(where),
                                   {},
                                   {},
                                   near ? format("did you mean '{}'?", *near) : ""}});
  }
  std::vector<std::pair<std::string, ir::AttrValue>> values;
  for (auto [key, value] : attributes) {
    std::string attribute = nb::cast<std::string>(key);
    values.emplace_back(attribute, from_python(value, attribute));
  }
  ir::Exprs operands;
  for (const PyExpr& arg : args) operands.push_back(arg.expr);
  return {take(op::call(name, std::move(operands), values, span_of(where)))};
}

// --- expressions ------------------------------------------------------------------------------------------------------------------
static PyExpr make_var(const std::string& name, const std::string& type) {
  // Shape variables are shared by name, as in the text of one function.
  static text::DimNames* const names = new text::DimNames;
  return {ir::var(name, type.empty() ? ir::Type() : take(text::parse_type(type, names)))};
}

static PyModule make_module(const std::optional<std::vector<PyExpr>>& params, const PyExpr& body) {
  std::vector<ir::VarRef> vars;
  if (!params) {
    vars = ir::free_vars(body.expr);
  } else {
    for (const PyExpr& p : *params) {
      if (!ir::as_var(p.expr)) throw nb::type_error("the parameters of a function are variables");
      vars.push_back(ir::as_var(p.expr));
    }
  }
  ir::Module module;
  module.functions["main"] = ir::function(std::move(vars), body.expr);
  return {std::move(module), {}};
}

void add_expressions(nb::module_& m) {
  m.def("operators", operators);
  nb::class_<PyExpr>(m, "Expr", "An expression of the language.").def("__str__", [](const PyExpr& e) {
    return text::str(e.expr);
  });
  m.def("call", call_op, nb::arg("op"), nb::arg("args"), nb::arg("attributes"), nb::arg("where") = "");
  m.def("var", make_var, nb::arg("name"), nb::arg("type"));
  m.def("constant", [](const Array& value) { return PyExpr{ir::constant(value.value)}; }, nb::arg("value"));
  m.def(
      "tuple",
      [](const std::vector<PyExpr>& elements) {
        ir::Exprs out;
        for (const PyExpr& e : elements) out.push_back(e.expr);
        return PyExpr{ir::tuple(std::move(out))};
      },
      nb::arg("elements"));
  m.def(
      "get", [](const PyExpr& tuple, int64_t index) { return PyExpr{ir::get(tuple.expr, index)}; }, nb::arg("tuple"),
      nb::arg("index"));
  m.def("module", make_module, nb::arg("params").none(), nb::arg("body"));
}

}  // namespace relay::python
