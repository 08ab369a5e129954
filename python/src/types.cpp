// Types and dimensions.
#include <algorithm>
#include <map>

#include "convert.h"
#include "relay/scalar/parts.h"
#include "relay/scalar/simplify.h"
#include "relay/text/text.h"

namespace relay::python {

using namespace ir;

// Equal names of shape variables mean the same variable everywhere in Python, as in the text of one function.
static text::DimNames* names() {
  static text::DimNames* const all = new text::DimNames;
  return all;
}

// A size that an operation makes, if it is not too large: most functions on sizes recurse.
static Dim within_parts(Dim dim) {
  if (!scalar::is_too_large(dim)) return dim;
  throw CompileError(
      {Diagnostic{DiagnosticKind::limit_exceeded,
                  format("this size would be an expression of more than {} parts", scalar::max_size_parts),
                  {},
                  {},
                  {},
                  "give a part of it a name of its own: relay.Dim(\"n\")"}});
}

Dim to_dim(nb::handle value) {
  if (nb::isinstance<scalar::Node>(value)) return nb::cast<Dim>(value);
  if (PyIndex_Check(value.ptr())) return scalar::imm(nb::cast<int64_t>(nb::int_(nb::handle(value))));
  if (!nb::isinstance<nb::str>(value)) throw nb::type_error("a dimension is a number, a name or a relay.Dim");
  Type type = value_or_throw(
      text::parse_type(format("Tensor[({},), float32]", nb::cast<std::string>(value)), names(), text::TypeForm::Relay));
  const TensorType* tensor = as<TensorType>(type);
  if (!tensor || tensor->shape.size() != 1) throw nb::value_error("expected one dimension");
  return within_parts(tensor->shape[0]);
}

Dims to_dims(nb::handle values) {
  constexpr size_t most = size_t{1} << 16;
  Dims out;
  for (nb::handle value : nb::iter(values)) {
    if (out.size() == most) throw nb::value_error(format("a shape has more than {} sizes", most).c_str());
    out.push_back(to_dim(value));
  }
  return out;
}

nb::object from_dim(const Dim& dim) { return scalar::is_int(dim) ? nb::cast(dim->ivalue) : nb::cast(dim); }

nb::tuple from_dims(const Dims& dims) {
  nb::list out;
  for (const Dim& dim : dims) out.append(from_dim(dim));
  return nb::tuple(out);
}

DType to_dtype(const std::string& name) {
  std::optional<DType> type = parse_dtype(name);
  if (!type) throw nb::value_error(printable(format("there is no element type '{}'", shortened(name))).c_str());
  return *type;
}

Types to_type_vars(std::optional<Types> given) {
  for (const Type& type : given.value_or(Types()))
    if (!as<TypeVar>(type)) throw nb::type_error("type parameters are relay.TypeVar");
  return given.value_or(Types());
}

// The levels of a node; `parts(node, f)` calls f for each part. Parts may be shared.
template <class Node, class Parts>
static int levels_of(const Ref<const Node>& node, const Parts& parts, std::map<const Node*, int>& known) {
  if (!node) return 0;
  const auto found = known.find(node.get());
  if (found != known.end()) return found->second;
  int most = 0;
  parts(*node, [&](const Ref<const Node>& part) { most = std::max(most, levels_of(part, parts, known)); });
  return known[node.get()] = most + 1;
}

static void refuse_beyond(int levels, const char* what) {
  constexpr int most = 200;
  if (levels <= most) return;
  throw CompileError({Diagnostic{DiagnosticKind::nesting_too_deep,
                                 format("{} are nested more than {} levels deep", what, most),
                                 {},
                                 {},
                                 {},
                                 "use a data type that contains itself for nested data"}});
}

Type within_levels(Type type) {
  std::map<const TypeNode*, int> known;
  const auto parts = [](const TypeNode& t, auto f) {
    auto all = [&](const Types& types) { std::for_each(types.begin(), types.end(), f); };
    if (t.kind == TypeKind::Tuple) all(static_cast<const TupleType&>(t).fields);
    if (t.kind == TypeKind::Ref) f(static_cast<const RefType&>(t).value);
    if (t.kind == TypeKind::Call) all(static_cast<const TypeCall&>(t).args);
    if (t.kind != TypeKind::Func) return;
    all(static_cast<const FuncType&>(t).args);
    f(static_cast<const FuncType&>(t).result);
  };
  refuse_beyond(levels_of(type, parts, known), "types");
  return type;
}

ir::Pattern within_levels(ir::Pattern pattern) {
  std::map<const PatternNode*, int> known;
  const auto parts = [](const PatternNode& p, auto f) { std::for_each(p.patterns.begin(), p.patterns.end(), f); };
  refuse_beyond(levels_of(pattern, parts, known), "patterns");
  return pattern;
}

static bool same_dim(const Dim& a, const Dim& b) {
  if (scalar::is_any(a) || scalar::is_any(b)) return scalar::is_any(a) && scalar::is_any(b);
  return scalar::equal(scalar::simplify(a), scalar::simplify(b));
}

static void add_dimensions(nb::module_& m) {
  nb::class_<scalar::Node> dim(m, "Dim",
                               "A size that is known only at run time: a shape variable, an expression over some, or "
                               "`?`.\n\nn = relay.Dim(\"n\"); relay.TensorType((n, 2 * n))");
  dim.def(nb::new_([](nb::handle value) { return to_dim(value); }), nb::arg("value"))
      .def("__add__", [](const Dim& a, nb::handle b) { return within_parts(a + to_dim(b)); })
      .def("__radd__", [](const Dim& a, nb::handle b) { return within_parts(to_dim(b) + a); })
      .def("__sub__", [](const Dim& a, nb::handle b) { return within_parts(a - to_dim(b)); })
      .def("__rsub__", [](const Dim& a, nb::handle b) { return within_parts(to_dim(b) - a); })
      .def("__mul__", [](const Dim& a, nb::handle b) { return within_parts(a * to_dim(b)); })
      .def("__rmul__", [](const Dim& a, nb::handle b) { return within_parts(to_dim(b) * a); })
      .def("__floordiv__", [](const Dim& a, nb::handle b) { return within_parts(scalar::floordiv(a, to_dim(b))); })
      .def("__mod__", [](const Dim& a, nb::handle b) { return within_parts(scalar::floormod(a, to_dim(b))); })
      .def(
          "min", [](const Dim& a, nb::handle b) { return within_parts(scalar::min(a, to_dim(b))); }, nb::arg("other"),
          "The smaller of the two.")
      .def(
          "max", [](const Dim& a, nb::handle b) { return within_parts(scalar::max(a, to_dim(b))); }, nb::arg("other"),
          "The larger of the two.")
      .def("__eq__",
           [](const Dim& a, nb::handle b) {
             bool is_dim = nb::isinstance<scalar::Node>(b) || PyLong_Check(b.ptr());
             return is_dim && same_dim(a, to_dim(b));
           })
      .def("__hash__", [](const Dim& a) { return scalar::is_any(a) ? 0 : scalar::hash(scalar::simplify(a)); })
      .def_prop_ro(
          "is_any", [](const Dim& a) { return scalar::is_any(a); }, "True if the size is unknown: `?`.")
      .def("__repr__", [](const Dim& a) { return scalar::str(a); });
  m.def("Any", scalar::any_dim, "An unknown size: `?` in text.");
}

void add_types(nb::module_& m) {
  add_dimensions(m);
  nb::class_<TypeNode>(m, "Type", "A type of the language; == compares structure.")
      .def("__eq__",
           [](const Type& a, nb::handle b) { return nb::isinstance<TypeNode>(b) && ir::equal(a, nb::cast<Type>(b)); })
      .def("__hash__", [](const Type& a) { return ir::hash(a); })
      .def(
          "same_as", [](const Type& a, const Type& b) { return a == b; }, nb::arg("other"), "Identity.")
      .def("__repr__", [](const Type& a) { return text::type_text(a); });

  nb::class_<TensorType, TypeNode>(m, "TensorType", "TensorType((2, \"n\"), \"float32\"): Tensor[(2, n), float32]")
      .def(nb::new_([](nb::handle shape, const std::string& dtype) {
             Dims dims = to_dims(shape);
             for (const Dim& d : dims)
               if (scalar::is_int(d) && d->ivalue < 0)
                 throw nb::value_error(format("the size {} is negative", d->ivalue).c_str());
             return make<TensorType>(std::move(dims), to_dtype(dtype));
           }),
           nb::arg("shape"), nb::arg("dtype") = "float32")
      .def_prop_ro(
          "shape", [](const TensorType& t) { return from_dims(t.shape); },
          "The sizes: integers, or Dims for symbolic sizes.")
      .def_prop_ro("dtype", [](const TensorType& t) { return t.dtype.str(); })
      .def_prop_ro(
          "concrete_shape",
          [](const TensorType& t) {
            nb::list out;
            for (const Dim& d : t.shape) {
              if (!scalar::is_int(d))
                throw nb::value_error(
                    printable(readable(format("the size {} is not a number", scalar::str(d)))).c_str());
              out.append(d->ivalue);
            }
            return nb::tuple(out);
          },
          "The shape as integers, if all sizes are numbers.");

  nb::class_<TupleType, TypeNode>(m, "TupleType", "TupleType([a, b]): (a, b)")
      .def(nb::new_([](Types fields) { return within_levels(make<TupleType>(std::move(fields))); }), nb::arg("fields"))
      .def_ro("fields", &TupleType::fields);

  nb::class_<FuncType, TypeNode>(m, "FuncType", "FuncType([a, b], r): fn (a, b) -> r")
      .def(nb::new_([](Types args, Type result, std::optional<Types> type_params, std::optional<Types> constraints) {
             if (constraints && !constraints->empty())
               throw nb::value_error("function types have no constraints: operators' relations are their own");
             return within_levels(
                 make<FuncType>(std::move(args), std::move(result), to_type_vars(std::move(type_params))));
           }),
           nb::arg("arg_types"), nb::arg("ret_type"), nb::arg("type_params") = nb::none(),
           nb::arg("type_constraints") = nb::none())
      .def_ro("arg_types", &FuncType::args)
      .def_ro("ret_type", &FuncType::result)
      .def_ro("type_params", &FuncType::type_vars);

  nb::class_<RefType, TypeNode>(m, "RefType", "RefType(a): ref(a)")
      .def(nb::new_([](Type value) { return within_levels(make<RefType>(std::move(value))); }), nb::arg("value"))
      .def_ro("value", &RefType::value);

  nb::class_<TypeVar, TypeNode>(m, "TypeVar", "A type parameter of a function or a type definition: TypeVar(\"a\").")
      .def(nb::new_([](std::string name, int kind) {
             if (kind != 0) throw nb::value_error("a type variable stands for a type; for a size use relay.Dim(name)");
             return make<TypeVar>(std::move(name));
           }),
           nb::arg("name_hint"), nb::arg("kind") = 0)
      .def_ro("name_hint", &TypeVar::name);

  nb::class_<DataTypeName, TypeNode>(m, "GlobalTypeVar", "The name of a type definition: GlobalTypeVar(\"List\").")
      .def(nb::new_([](std::string name) { return make<DataTypeName>(std::move(name)); }), nb::arg("name_hint"))
      .def_ro("name_hint", &DataTypeName::name)
      .def(
          "__call__",
          [](const Type& self, nb::args args) {
            Types types;
            for (nb::handle arg : args) types.push_back(nb::cast<Type>(arg));
            return types.empty() ? self : within_levels(make<TypeCall>(self, std::move(types)));
          },
          "The type applied to arguments: List(scalar_type(\"int32\")); without arguments, the type itself.");

  nb::class_<TypeCall, TypeNode>(m, "TypeCall", "TypeCall(List, [a]): List[a]")
      .def(nb::new_(
               [](Type func, Types args) { return within_levels(make<TypeCall>(std::move(func), std::move(args))); }),
           nb::arg("func"), nb::arg("args"))
      .def_ro("func", &TypeCall::callee)
      .def_ro("args", &TypeCall::args);

  nb::class_<HoleType, TypeNode>(m, "IncompleteType", "A type to infer: `_`.").def(nb::new_([] {
    return make<HoleType>();
  }));

  m.def(
      "parse_type", [](const std::string& text) { return value_or_throw(text::parse_type(text, names())); },
      nb::arg("text"), "Parses a type: parse_type(\"Tensor[(2, n), float32]\").");
}

}  // namespace relay::python
