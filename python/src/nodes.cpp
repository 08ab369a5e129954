// The nodes of the language as classes: relay.Call(relay.op.get("add"), [x, y]).args
//
// They are immutable; a pass creates new ones. Names of constructors and fields are those that Relay's Python users
// know.
#include <algorithm>

#include "convert.h"
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/text/text.h"
#include "relay/typing/typing.h"

namespace relay::python {

using namespace ir;

using OptType = std::optional<Type>;
using OptTypes = std::optional<Types>;
using OptSpan = std::optional<Span>;

static Span or_here(const OptSpan& span) { return span ? *span : span_here(); }

static Type checked_type(const ExprNode& e) {
  const Function* function = dynamic_cast<const Function*>(&e);
  Type type = !e.type && function ? typing::annotated_type(*function) : e.type;
  if (!type) throw nb::value_error("this expression has no type yet: relay.transform.InferType() infers it");
  return type;
}

// --- arithmetic ------------------------------------------------------------------------------------------------------
// A number next to an expression gets the expression's element type, if that is known.
static Expr operand(nb::handle value, const Expr& other) {
  if (nb::isinstance<ExprNode>(value) || nb::hasattr(value, "__relay_expr__")) return nb::cast<Expr>(value);
  double number = PyFloat_AsDouble(value.ptr());
  if (number == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    throw nb::type_error("expected an expression or a number");
  }
  Result<Type> type = typing::infer_expr(other);
  if (const TensorType* tensor = type ? as<TensorType>(*type) : nullptr) return constant(number, tensor->dtype);
  throw nb::type_error("the type of the number is unknown here: write relay.const(number, dtype)");
}

static void add_arithmetic(nb::class_<ExprNode>& expr) {
  struct Infix {
    const char *method, *reflected, *op;
  };
  for (Infix infix : {Infix{"__add__", "__radd__", "add"},
                      {"__sub__", "__rsub__", "subtract"},
                      {"__mul__", "__rmul__", "multiply"},
                      {"__truediv__", "__rtruediv__", "divide"}}) {
    std::string op = infix.op;
    expr.def(infix.method, [op](const Expr& a, nb::handle b) { return call_operator(op, {a, operand(b, a)}, {}); });
    expr.def(infix.reflected, [op](const Expr& a, nb::handle b) { return call_operator(op, {operand(b, a), a}, {}); });
  }
  for (auto [method, name] :
       {std::pair("__lt__", "less"), {"__le__", "less_equal"}, {"__gt__", "greater"}, {"__ge__", "greater_equal"}}) {
    std::string op = name;
    expr.def(method, [op](const Expr& a, nb::handle b) { return call_operator(op, {a, operand(b, a)}, {}); });
  }
  expr.def("__neg__", [](const Expr& a) { return call_operator("negative", {a}, {}); });
  expr.def(
      "astype", [](const Expr& a, const std::string& dtype) { return call_operator("cast", {a}, {{"dtype", dtype}}); },
      nb::arg("dtype"), "cast(self, dtype)");
}

// --- nodes -----------------------------------------------------------------------------------------------------------
static Expr make_call(Expr callee, Exprs args, nb::handle attrs, const OptTypes& type_args, const OptSpan& span) {
  if (nb::isinstance<AttrsNode>(attrs) || (attrs.is_none() && !as<Op>(callee))) {
    Attrs given = attrs.is_none() ? Attrs() : nb::cast<Attrs>(attrs);
    if (!type_args) return call(std::move(callee), std::move(args), std::move(given), or_here(span));
    Ref<Call> made(new Call(std::move(callee), std::move(args), std::move(given)));
    made->type_args = *type_args;
    made->span = or_here(span);
    return made;
  }
  const Op* op = as<Op>(callee);
  if (!op) throw nb::type_error("only calls of operators have attributes");
  return value_or_throw(op::call(op->name, std::move(args), to_attrs(attrs), or_here(span)));
}

static Types type_args(const Call& c) {
  if (!c.type_args.empty() || !as<Op>(c.callee)) return c.type_args;
  Types out;
  for (const Expr& arg : c.args) out.push_back(arg->type);
  return std::find(out.begin(), out.end(), Type()) == out.end() ? out : Types();
}

static Expr call_with(const Expr& callee, nb::args args) {
  Exprs operands;
  for (nb::handle arg : args) operands.push_back(nb::cast<Expr>(arg));
  return make_call(callee, std::move(operands), nb::none(), {}, {});
}

static FunctionRef with_attrs(const FunctionRef& f, DictAttrs attrs) {
  Ref<Function> changed(new Function(f->params, f->body, f->result_type, f->type_params, std::move(attrs)));
  changed->span = f->span, changed->type = f->type;
  return changed;
}

static void add_functions(nb::module_& m) {
  nb::class_<Function, ExprNode>(m, "Function", "Function([x, y], body): fn (%x, %y) { body }")
      .def(nb::new_([](std::vector<VarRef> params, Expr body, OptType result, OptTypes type_params, nb::handle attrs,
                       const OptSpan& span) {
             return function(std::move(params), std::move(body), result.value_or(Type()),
                             to_type_vars(std::move(type_params)), to_dict_attrs(attrs), or_here(span));
           }),
           nb::arg("params"), nb::arg("body"), nb::arg("ret_type") = nb::none(), nb::arg("type_params") = nb::none(),
           nb::arg("attrs") = nb::none(), nb::arg("span") = nb::none())
      .def_ro("params", &Function::params)
      .def_ro("body", &Function::body)
      .def_ro("ret_type", &Function::result_type)
      .def_ro("type_params", &Function::type_params)
      .def_prop_ro(
          "attrs", [](const Function& f) { return from_dict_attrs(f.attrs); }, "Converts to a dict.")
      .def(
          "with_attr",
          [](const FunctionRef& f, const std::string& name, nb::handle value) {
            DictAttrs attrs = f->attrs;
            attrs[name] = to_attr(value, name);
            return with_attrs(f, std::move(attrs));
          },
          nb::arg("name"), nb::arg("value").none(), "The same function with this attribute.")
      .def(
          "without_attr",
          [](const FunctionRef& f, const std::string& name) {
            DictAttrs attrs = f->attrs;
            attrs.erase(name);
            return with_attrs(f, std::move(attrs));
          },
          nb::arg("name"));

  nb::class_<Call, ExprNode>(m, "Call", "Call(op, [x, y], attrs): attrs of another call, or a dict for an operator.")
      .def(nb::new_(&make_call), nb::arg("op"), nb::arg("args"), nb::arg("attrs") = nb::none(),
           nb::arg("type_args") = nb::none(), nb::arg("span") = nb::none())
      .def_ro("op", &Call::callee)
      .def_ro("args", &Call::args)
      .def_ro("attrs", &Call::attrs)
      .def_prop_ro("type_args", type_args,
                   "The type arguments of a called function; for an operator, the types of the arguments.");

  nb::class_<Op, ExprNode>(m, "Op", "A primitive operator: relay.op.get(\"nn.conv2d\").")
      .def_static(
          "get", [](const std::string& name) { return op::node(find_operator(name)); }, nb::arg("name"),
          "The operator of this name, the same object every time.")
      .def_ro("name", &Op::name);

  nb::class_<GlobalVar, ExprNode>(m, "GlobalVar", "GlobalVar(\"main\"): @main; equal by name.")
      .def(nb::new_([](std::string name) { return make<GlobalVar>(std::move(name)); }), nb::arg("name_hint"))
      .def_ro("name_hint", &GlobalVar::name)
      .def("__eq__",
           [](const GlobalVar& a, nb::handle b) {
             return nb::isinstance<GlobalVar>(b) && nb::cast<Ref<const GlobalVar>>(b)->name == a.name;
           })
      .def("__hash__", [](const GlobalVar& a) { return std::hash<std::string>()(a.name); });
}

static void add_values(nb::module_& m) {
  nb::class_<Constant, ExprNode>(m, "Constant", "Constant(numpy.ones(2)), with its own memory; relay.const is shorter.")
      .def(nb::new_([](nb::handle data, const OptSpan& span) {
             nb::object array = nb::module_::import_("relay.data.arrays").attr("own_array")(data);
             return constant(nb::cast<const Array&>(array).value, or_here(span));
           }),
           nb::arg("data"), nb::arg("span") = nb::none())
      .def_static(
          "sharing", [](const Array& data, const OptSpan& span) { return constant(data.value, or_here(span)); },
          nb::arg("data"), nb::arg("span") = nb::none(),
          "A constant in the memory of an array, which no other code may write.")
      .def_prop_ro("data", [](const Constant& c) { return Array{c.value, false}; });

  nb::class_<Tuple, ExprNode>(m, "Tuple", "Tuple([a, b]): (a, b). It supports t[0], len(t) and iteration.")
      .def(nb::new_([](Exprs fields, const OptSpan& span) { return tuple(std::move(fields), or_here(span)); }),
           nb::arg("fields"), nb::arg("span") = nb::none())
      .def_ro("fields", &Tuple::elements)
      .def("__len__", [](const Tuple& t) { return t.elements.size(); })
      .def("__getitem__", [](const Tuple& t, int64_t i) {
        int64_t count = static_cast<int64_t>(t.elements.size());
        if (i < -count || i >= count) throw nb::index_error("the tuple has fewer fields");
        return t.elements[static_cast<size_t>(i < 0 ? i + count : i)];
      });

  nb::class_<TupleGetItem, ExprNode>(m, "TupleGetItem", "TupleGetItem(t, 0): t.0")
      .def(nb::new_([](Expr tuple, int64_t index, const OptSpan& span) {
             return get(std::move(tuple), index, or_here(span));
           }),
           nb::arg("tuple_value"), nb::arg("index"), nb::arg("span") = nb::none())
      .def_ro("tuple_value", &TupleGetItem::tuple)
      .def_ro("index", &TupleGetItem::index);

  nb::class_<RefCreate, ExprNode>(m, "RefCreate", "RefCreate(value): ref(value)")
      .def(nb::new_([](Expr value) { return make<RefCreate>(std::move(value)); }), nb::arg("value"))
      .def_ro("value", &RefCreate::value);
  nb::class_<RefRead, ExprNode>(m, "RefRead", "RefRead(r): ref_read(r)")
      .def(nb::new_([](Expr ref) { return make<RefRead>(std::move(ref)); }), nb::arg("ref"))
      .def_ro("ref", &RefRead::ref);
  nb::class_<RefWrite, ExprNode>(m, "RefWrite", "RefWrite(r, value): ref_write(r, value)")
      .def(nb::new_([](Expr ref, Expr value) { return make<RefWrite>(std::move(ref), std::move(value)); }),
           nb::arg("ref"), nb::arg("value"))
      .def_ro("ref", &RefWrite::ref)
      .def_ro("value", &RefWrite::value);
}

static void add_binding(nb::module_& m) {
  nb::class_<Var, ExprNode>(m, "Var", "Var(\"x\", type): %x. Identity is the object; the name is a hint.")
      .def(nb::new_([](std::string name, OptType annotation, const OptSpan& span) {
             return var(std::move(name), annotation.value_or(Type()), or_here(span));
           }),
           nb::arg("name_hint"), nb::arg("type_annotation") = nb::none(), nb::arg("span") = nb::none())
      .def_ro("name_hint", &Var::name)
      .def_ro("type_annotation", &Var::annotation)
      .def("__repr__", [](const Var& v) {
        return v.annotation ? format("Var({}, {})", v.name, text::type_text(v.annotation)) : format("Var({})", v.name);
      });

  nb::class_<Let, ExprNode>(m, "Let", "Let(x, value, body): let %x = value; body")
      .def(nb::new_([](VarRef var, Expr value, Expr body, const OptSpan& span) {
             return let(std::move(var), std::move(value), std::move(body), or_here(span));
           }),
           nb::arg("variable"), nb::arg("value"), nb::arg("body"), nb::arg("span") = nb::none())
      .def_ro("var", &Let::var)
      .def_ro("value", &Let::value)
      .def_ro("body", &Let::body);

  nb::class_<If, ExprNode>(m, "If", "If(c, a, b): if (c) { a } else { b }")
      .def(nb::new_([](Expr c, Expr a, Expr b, const OptSpan& span) {
             return if_(std::move(c), std::move(a), std::move(b), or_here(span));
           }),
           nb::arg("cond"), nb::arg("true_branch"), nb::arg("false_branch"), nb::arg("span") = nb::none())
      .def_ro("cond", &If::condition)
      .def_ro("true_branch", &If::then_branch)
      .def_ro("false_branch", &If::else_branch);
}

static std::string text_of(const Expr& e, const text::PrintOptions& options) {
  std::string out = text::str(e, options);
  while (out.ends_with('\n')) out.pop_back();
  return out;
}

void add_nodes(nb::module_& m) {
  auto text = [](const Expr& e) { return text_of(e, {.version = false}); };
  nb::class_<ExprNode> expr(m, "Expr",
                            "An expression of the language. == and hash() are identity; + - * / < <= > >= and calling "
                            "build expressions.");
  expr.def_prop_ro("checked_type", checked_type,
                   "The inferred type; for a function before inference, the type of its annotations.")
      .def_prop_ro(
          "_checked_type_", [](const ExprNode& e) { return e.type; }, "The inferred type; None before inference.")
      .def_prop_ro("span", [](const ExprNode& e) { return e.span ? OptSpan(e.span) : OptSpan(); })
      .def("__call__", call_with, "Call(self, args)")
      .def(
          "same_as", [](const Expr& a, const Expr& b) { return a == b; }, nb::arg("other"), "Identity.")
      .def(
          "astext",
          [](const Expr& e, bool show_meta_data, std::function<std::string(Expr)> annotate, bool types) {
            return text_of(e, {.version = show_meta_data, .types = types, .annotate = std::move(annotate)});
          },
          nb::arg("show_meta_data") = true, nb::arg("annotate").none() = nb::none(), nb::kw_only(),
          nb::arg("types") = false,
          "The expression as text, with the version header, and with the values of large constants unless "
          "show_meta_data is False.")
      .def("__str__", text)
      .def("__repr__", text);
  add_arithmetic(expr);
  add_values(m);
  add_binding(m);
  add_functions(m);
}

}  // namespace relay::python
