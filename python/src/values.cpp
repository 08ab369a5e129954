// Values of programs: tensors, tuples, data, functions, references. python/relay/data/values.py makes Python objects of
// them.
#include "relay/input/values.h"

#include <cstring>
#include <unordered_map>

#include "core.h"
#include "relay/runtime/functions/references.h"
#include "relay/runtime/functions/value.h"
#include "values.h"

namespace relay::python {

using runtime::ObjectKind;
using runtime::Value;

DataTypes data_types(const ir::Module& module) {
  DataTypes out;
  for (const auto& [name, definition] : module.types) out.types[name] = input::intern(definition);
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
  if (fitting.size() == 1)
    return value_or_throw(Value::data(types.types.at(fitting[0]), constructor, std::move(fields)));
  Diagnostic d{DiagnosticKind::wrong_input, format("the program has no constructor {}", constructor)};
  if (fitting.size() > 1) {
    d.message = format("{} is a constructor of {}", constructor, join(fitting, " and of "));
    d.help = "say which: Data(..., type=\"...\")";
  } else if (!type.empty()) {
    d.message = format("the program has no type {} with a constructor {}", type, constructor);
    d.help = names.empty() ? "the program has no data types" : format("its constructors are: {}", join(names, ", "));
  } else {
    std::optional<std::string> near = nearest(constructor, names);
    d.help = near            ? format("did you mean {}?", *near)
             : names.empty() ? "the program has no data types: pass tensors and tuples"
                             : format("its constructors are: {}", join(names, ", "));
  }
  throw CompileError({std::move(d)});
}

static Tensor copy_of(const Tensor& t) {
  Tensor copy = Tensor::empty(t.shape(), t.dtype());
  if (t.bytes() > 0) std::memcpy(copy.mutable_data(), t.data(), t.bytes());
  return copy;
}

// `alone`: the caller is the only owner. A tensor that others own too, such as a constant, is copied: the array belongs
// to the caller, who may write it.
static Array array_of(const Value& v, bool alone) {
  const Tensor t = v.tensor();
  return {alone && !runtime::as_tensor(v.get())->is_shared() ? t : copy_of(t), true};
}

// The steps by which Python builds the value with a stack; parts come first:
//   ("tensor", array)  ("tuple", count)  ("data", count, constructor, type)  ("closure", value)  ("again", number of an
//   earlier step)
//   ("reference",)  an empty one; its content; then ("fill",)
static nb::list steps(const Value& value) {
  struct Item {
    runtime::Object* object;
    bool alone, done;  // it has no other owner; its parts are made
  };
  nb::list out;
  std::unordered_map<const runtime::Object*, size_t> made;
  std::vector<Item> work{{value.get(), runtime::is_unique(value.get()), false}};
  while (!work.empty()) {
    Item item = work.back();
    work.pop_back();
    runtime::Object* o = item.object;
    if (std::unordered_map<const runtime::Object*, size_t>::iterator it = made.find(o);
        it != made.end() && !item.done) {
      out.append(nb::make_tuple("again", it->second));
      continue;
    }
    bool has_fields = o->kind == ObjectKind::Tuple || o->kind == ObjectKind::Data;
    if (has_fields && !item.done) {
      work.push_back({o, item.alone, true});
      for (size_t i = o->size; i-- > 0;) {
        runtime::Object* field = runtime::fields(o)[i];
        work.push_back({field, item.alone && runtime::is_unique(field), false});
      }
      continue;
    }
    if (item.done && o->kind == ObjectKind::Reference) {
      out.append(nb::make_tuple("fill"));
      continue;
    }
    made[o] = nb::len(out);
    switch (o->kind) {
      case ObjectKind::Tensor: out.append(nb::make_tuple("tensor", array_of(Value::share(o), item.alone))); break;
      case ObjectKind::Tuple: out.append(nb::make_tuple("tuple", o->size)); break;
      case ObjectKind::Data: {
        const runtime::DataType& type = runtime::data_type(o->id);
        out.append(nb::make_tuple("data", o->size, type.constructors[o->tag].name, type.name));
        break;
      }
      case ObjectKind::Closure: out.append(nb::make_tuple("closure", Value::share(o))); break;
      case ObjectKind::Reference: {
        out.append(nb::make_tuple("reference"));
        Value content = Value::share(o).content();
        work.push_back({o, false, true});
        work.push_back({content.get(), false, false});
        break;
      }
    }
  }
  return out;
}

// Gives a reference its content.
static void fill(const Value& reference, Value content) {
  if (reference.kind() != ObjectKind::Reference) throw nb::type_error("only a reference can be filled");
  runtime::write_reference(static_cast<runtime::ReferenceObject*>(reference.get()), content.detach());
}

void add_program_values(nb::module_& m) {
  nb::class_<DataTypes>(m, "DataTypes", "The data types of a program.").def_prop_ro("names", [](const DataTypes& t) {
    std::vector<std::string> names;
    for (const auto& [name, id] : t.types) names.push_back(name);
    return names;
  });
  nb::class_<Value>(m, "Value", "A value of a program.")
      .def_static(
          "tensor",
          [](const Array& a, bool lend) { return lend ? Value::tensor(a.value) : Value::donated(copy_of(a.value)); },
          nb::arg("array"), nb::arg("lend") = false)
      .def_static(
          "tuple", [](std::vector<Value> fields) { return Value::tuple(std::move(fields)); }, nb::arg("fields"))
      .def_static("data", make_data, nb::arg("types"), nb::arg("constructor"), nb::arg("fields"), nb::arg("type") = "")
      .def_static(
          "reference", [](Value content) { return Value::reference(std::move(content)); }, nb::arg("content"))
      .def(
          "fill", [](const Value& v, Value content) { fill(v, std::move(content)); }, nb::arg("content"))
      .def("steps", steps, nb::sig("def steps(self) -> list[tuple]"))
      .def("__str__", [](const Value& v) { return runtime::str(v); });
  m.def("data_types", [](const PyModule& m) { return data_types(m.module); }, nb::arg("module"));
}

}  // namespace relay::python
