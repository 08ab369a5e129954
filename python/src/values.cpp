// Values of programs: tensors, tuples, data, functions, references. python/relay/values.py makes Python objects of them.
#include "relay/driver/values.h"

#include "core.h"
#include "relay/runtime/value.h"
#include "values.h"

namespace relay::python {

using runtime::ObjectKind;
using runtime::Value;

static const char* kind_name(const Value& v) {
  switch (v.kind()) {
    case ObjectKind::Tensor: return "tensor";
    case ObjectKind::Tuple: return "tuple";
    case ObjectKind::Data: return "data";
    case ObjectKind::Closure: return "closure";
    case ObjectKind::Reference: return "reference";
  }
  return "";
}

DataTypes data_types(const ir::Module& module) {
  DataTypes out;
  for (const auto& [name, definition] : module.types) out.types[name] = driver::intern(definition);
  return out;
}

DataTypes data_types(const runtime::Program& program) {
  DataTypes out;
  for (const runtime::DataType& type : program.types) out.types[type.name] = runtime::intern_type(type);
  return out;
}

static Value make_data(const DataTypes& types, const std::string& constructor, std::vector<Value> fields,
                       const std::string& type) {
  std::vector<std::string> names, fitting;
  for (const auto& [name, id] : types.types)
    for (const runtime::Constructor& c : runtime::data_type(id).constructors) {
      names.push_back(c.name);
      if (c.name == constructor && (type.empty() || name == type)) fitting.push_back(name);
    }
  if (fitting.size() == 1) return take(Value::data(types.types.at(fitting[0]), constructor, std::move(fields)));
  Diagnostic d{DiagnosticKind::wrong_input, format("the program has no constructor {}", constructor)};
  if (fitting.size() > 1) {
    d.message = format("{} is a constructor of {}", constructor, join(fitting, " and of "));
    d.help = "say which: Data(..., type=\"...\")";
  } else if (!type.empty()) {
    d.message = format("the program has no type {} with a constructor {}", type, constructor);
  } else if (std::optional<std::string> near = nearest(constructor, names)) {
    d.help = format("did you mean {}?", *near);
  }
  throw CompileError({std::move(d)});
}

// The fields of a tuple or data value, or what a reference holds; with each, whether nobody else has it.
static std::vector<std::pair<Value, bool>> parts(const Value& v) {
  std::vector<std::pair<Value, bool>> out;
  if (v.kind() == ObjectKind::Reference) out.emplace_back(v.content(), false);
  if (v.kind() != ObjectKind::Tuple && v.kind() != ObjectKind::Data) return out;
  for (size_t i = 0; i < v.size(); ++i) {
    bool alone = runtime::is_unique(runtime::fields(v.get())[i]);
    out.emplace_back(v.field(i), alone);
  }
  return out;
}

// `alone`: the caller has the only value. Then the array may be written, unless its memory is that of an input or a constant.
static Array array_of(const Value& v, bool alone) {
  return {v.tensor(), alone && v.get()->tag != runtime::TensorObject::Shared};
}

void add_program_values(nb::module_& m) {
  nb::class_<DataTypes>(m, "DataTypes", "The data types of a program.").def_prop_ro("names", [](const DataTypes& t) {
    std::vector<std::string> names;
    for (const auto& [name, id] : t.types) names.push_back(name);
    return names;
  });
  nb::class_<Value>(m, "Value", "A value of a program.")
      .def_static(
          "tensor", [](const Array& a) { return Value::tensor(a.value); }, nb::arg("array"))
      .def_static(
          "tuple", [](std::vector<Value> fields) { return Value::tuple(std::move(fields)); }, nb::arg("fields"))
      .def_static("data", make_data, nb::arg("types"), nb::arg("constructor"), nb::arg("fields"), nb::arg("type") = "")
      .def_static(
          "reference", [](Value content) { return Value::reference(std::move(content)); }, nb::arg("content"))
      .def_prop_ro("kind", kind_name)
      .def_prop_ro("address", [](const Value& v) { return reinterpret_cast<uintptr_t>(v.get()); })
      .def_prop_ro("alone", [](const Value& v) { return runtime::is_unique(v.get()); })
      .def_prop_ro("type", [](const Value& v) { return runtime::data_type(v.type()).name; })
      .def_prop_ro("constructor", [](const Value& v) { return v.constructor(); })
      .def("parts", parts)
      .def("array", array_of, nb::arg("alone") = false)
      .def("__str__", [](const Value& v) { return runtime::str(v); });
  m.def("data_types", [](const PyModule& m) { return data_types(m.module); }, nb::arg("module"));
}

}  // namespace relay::python
