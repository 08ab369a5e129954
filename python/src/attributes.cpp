// Attributes of calls, functions and modules.
#include "convert.h"
#include "relay/text/text.h"

namespace relay::python {

using namespace ir;

// A dictionary is two strings: this mark, and its JSON (python/relay/data/dictionaries.py).
static constexpr std::string_view dictionary_mark = "relay: a dictionary";
static nb::module_ dictionaries() { return nb::module_::import_("relay.data.dictionaries"); }

nb::object from_attr(const AttrValue& value) {
  if (const bool* b = std::get_if<bool>(&value)) return nb::cast(*b);
  if (const int64_t* i = std::get_if<int64_t>(&value)) return nb::cast(*i);
  if (const double* f = std::get_if<double>(&value)) return nb::cast(*f);
  if (const std::string* s = std::get_if<std::string>(&value)) return nb::cast(*s);
  if (const DType* t = std::get_if<DType>(&value)) return nb::cast(t->str());
  if (const Ints* v = std::get_if<Ints>(&value)) return nb::cast(*v);
  if (const Floats* v = std::get_if<Floats>(&value)) return nb::cast(*v);
  if (const Strings* v = std::get_if<Strings>(&value))
    return v->size() == 2 && v->front() == dictionary_mark ? dictionaries().attr("decoded")(v->back()) : nb::cast(*v);
  if (const IntLists* v = std::get_if<IntLists>(&value)) return nb::cast(*v);
  if (const Dims* dims = std::get_if<Dims>(&value)) return nb::list(from_dims(*dims));
  return nb::none();
}

static bool is_number(nb::handle value) { return PyIndex_Check(value.ptr()) && !PyBool_Check(value.ptr()); }

static AttrValue attr_of(nb::handle value, const std::string& name, int depth);

static AttrValue list_attr(nb::handle list, const std::string& name, int depth) {
  constexpr size_t longest = size_t{1} << 24;  // elements
  Ints ints;
  Floats floats;
  Strings strings;
  IntLists lists;
  Dims dims;
  size_t count = 0;
  const Py_ssize_t length = PyObject_Size(list.ptr());  // -1 with an error if it has none: a generator
  if (length < 0) PyErr_Clear();
  for (nb::handle item : nb::iter(list)) {
    if (++count > longest || length > static_cast<Py_ssize_t>(longest))
      throw CompileError({Diagnostic{DiagnosticKind::limit_exceeded,
                                     format("attribute '{}' has more than {} elements", name, longest),
                                     {},
                                     {},
                                     {},
                                     "give long data as a tensor: relay.const(array)"}});
    AttrValue one = attr_of(item, name, depth + 1);
    if (const int64_t* i = std::get_if<int64_t>(&one)) {
      ints.push_back(*i), floats.push_back(static_cast<double>(*i)), dims.push_back(scalar::imm(*i));
    } else if (const double* f = std::get_if<double>(&one)) {
      floats.push_back(*f);
    } else if (const std::string* s = std::get_if<std::string>(&one)) {
      strings.push_back(*s);
    } else if (const Ints* inner = std::get_if<Ints>(&one)) {
      lists.push_back(*inner);
    } else if (const Dims* dim = std::get_if<Dims>(&one); dim && dim->size() == 1) {
      dims.push_back(dim->front());
    }
  }
  if (ints.size() == count) return ints;
  if (floats.size() == count) return floats;
  if (strings.size() == count) return strings;
  if (lists.size() == count) return lists;
  if (dims.size() == count) return dims;
  return std::monostate();
}

static AttrValue attr_of(nb::handle value, const std::string& name, int depth) {
  constexpr int deepest = 2;  // lists of lists
  if (value.is_none()) return std::monostate();
  if (PyBool_Check(value.ptr())) return nb::cast<bool>(value);
  if (is_number(value)) return nb::cast<int64_t>(nb::int_(nb::handle(value)));
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  if (nb::isinstance<scalar::Node>(value)) return Dims{nb::cast<Dim>(value)};
  if (nb::isinstance<nb::dict>(value))
    return Strings{std::string(dictionary_mark), nb::cast<std::string>(dictionaries().attr("encoded")(value))};
  if (PySequence_Check(value.ptr())) {
    AttrValue list = depth < deepest ? list_attr(value, name, depth) : AttrValue();
    if (!std::holds_alternative<std::monostate>(list)) return list;
  } else if (double f = PyFloat_AsDouble(value.ptr()); f != -1 || !PyErr_Occurred()) {
    return f;
  }
  PyErr_Clear();
  throw CompileError({Diagnostic{DiagnosticKind::bad_attribute,
                                 format("attribute '{}' cannot be {}", name, nb::cast<std::string>(nb::repr(value))),
                                 {},
                                 {},
                                 {},
                                 "attributes are numbers, bools, strings, sizes, None, lists of one of these, or "
                                 "dictionaries"}});
}

AttrValue to_attr(nb::handle value, const std::string& name) { return attr_of(value, name, 0); }

NamedAttrs to_attrs(nb::handle dict) {
  NamedAttrs out;
  if (dict.is_none()) return out;
  for (auto [key, value] : nb::cast<nb::dict>(dict)) {
    std::string name = nb::cast<std::string>(key);
    AttrValue attr = to_attr(value, name);
    out.emplace_back(std::move(name), std::move(attr));
  }
  return out;
}

DictAttrs to_dict_attrs(nb::handle dict) {
  DictAttrs out;
  for (auto& [name, value] : to_attrs(dict)) out[name] = std::move(value);
  return out;
}

nb::dict from_dict_attrs(const DictAttrs& attrs) {
  nb::dict out;
  for (const auto& [name, value] : attrs) out[nb::cast(name)] = from_attr(value);
  return out;
}

static nb::object attribute(const AttrsNode& attrs, const std::string& name) {
  int index = attrs.type.find(name);
  if (index < 0)
    throw nb::attribute_error(printable(format("{} has no attribute '{}'", attrs.type.name, shortened(name))).c_str());
  return from_attr(attrs.get(static_cast<size_t>(index)));
}

void add_attributes(nb::module_& m) {
  nb::class_<AttrsNode>(m, "Attrs", "The attributes of a call: call.attrs.strides, call.attrs[\"strides\"].")
      .def("__getattr__", attribute, nb::arg("name"))
      .def("__getitem__", attribute, nb::arg("name"))
      .def("get_int", attribute, nb::arg("name"))
      .def("get_str", attribute, nb::arg("name"))
      .def("get_int_tuple", [](const AttrsNode& a, const std::string& name) { return nb::tuple(attribute(a, name)); })
      .def("keys",
           [](const AttrsNode& attrs) {
             std::vector<std::string> out;
             for (const AttrField& field : attrs.type.fields) out.push_back(field.name);
             return out;
           })
      .def_prop_ro("type_key", [](const AttrsNode& attrs) { return attrs.type.name; })
      .def("__eq__",
           [](const Attrs& a, nb::handle b) { return nb::isinstance<AttrsNode>(b) && equal(a, nb::cast<Attrs>(b)); })
      .def("__hash__", [](const Attrs& a) { return hash(a); })
      .def("__repr__", [](const Attrs& a) { return format("{}({})", a->type.name, text::str(a)); });
}

}  // namespace relay::python
