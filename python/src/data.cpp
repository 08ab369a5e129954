// Data types: definitions, constructors, patterns and match.
#include "convert.h"
#include "relay/text/text.h"

namespace relay::python {

using namespace ir;

using ConstructorRef = Ref<const Constructor>;

static Pattern pattern(PatternKind kind, VarRef var = {}, Expr constructor = {}, std::vector<Pattern> inner = {}) {
  Ref<PatternNode> made(new PatternNode);
  made->kind = kind, made->var = std::move(var), made->constructor = std::move(constructor),
  made->patterns = std::move(inner);
  return within_levels(ir::Pattern(made));
}

static void add_patterns(nb::module_& m) {
  nb::class_<PatternNode>(m, "Pattern", "A pattern of a clause of a match.");
  nb::class_<PatternWildcard, PatternNode>(m, "PatternWildcard", "_").def(nb::new_([] {
    return pattern(PatternKind::Wildcard);
  }));
  nb::class_<PatternVar, PatternNode>(m, "PatternVar", "PatternVar(x): %x, bound to the matched value")
      .def(nb::new_([](VarRef var) { return pattern(PatternKind::Var, std::move(var)); }), nb::arg("var"))
      .def_prop_ro("var", [](const PatternNode& p) { return p.var; });
  nb::class_<PatternConstructor, PatternNode>(m, "PatternConstructor", "PatternConstructor(Cons, [p, q]): Cons(p, q)")
      .def(nb::new_([](ConstructorRef constructor, std::optional<std::vector<Pattern>> inner) {
             return pattern(PatternKind::Constructor, {}, constructor,
                            std::move(inner).value_or(std::vector<Pattern>()));
           }),
           nb::arg("constructor"), nb::arg("patterns") = nb::none())
      .def_prop_ro("constructor", [](const PatternNode& p) { return p.constructor; })
      .def_prop_ro("patterns", [](const PatternNode& p) { return p.patterns; });
  nb::class_<PatternTuple, PatternNode>(m, "PatternTuple", "PatternTuple([p, q]): (p, q)")
      .def(nb::new_([](std::vector<Pattern> inner) { return pattern(PatternKind::Tuple, {}, {}, std::move(inner)); }),
           nb::arg("patterns"))
      .def_prop_ro("patterns", [](const PatternNode& p) { return p.patterns; });
}

static void add_match(nb::module_& m) {
  nb::class_<Clause>(m, "Clause", "Clause(pattern, body): pattern => body")
      .def(
          "__init__", [](Clause* self, Pattern lhs, Expr rhs) { new (self) Clause{std::move(lhs), std::move(rhs)}; },
          nb::arg("lhs"), nb::arg("rhs"))
      .def_ro("lhs", &Clause::pattern)
      .def_ro("rhs", &Clause::body);
  nb::class_<Match, ExprNode>(m, "Match", "Match(data, [clause, ...]): match (data) { clause, ... }")
      .def(nb::new_([](Expr data, std::vector<Clause> clauses, bool complete) {
             Ref<Match> made(new Match(std::move(data), std::move(clauses), complete));
             made->span = span_here();
             return Ref<const Match>(made);
           }),
           nb::arg("data"), nb::arg("clauses"), nb::arg("complete") = true)
      .def_ro("data", &Match::data)
      .def_ro("clauses", &Match::clauses)
      .def_ro("complete", &Match::complete);
}

// A definition numbers its constructors.
static TypeDef type_def(const Ref<const DataTypeName>& header, Types type_vars,
                        const std::vector<ConstructorRef>& given) {
  TypeDef out{.name = header->name, .type_params = std::move(type_vars), .constructors = {}, .span = span_here()};
  for (const ConstructorRef& c : given) {
    int64_t tag = static_cast<int64_t>(out.constructors.size());
    if (c->data_type != header->name)
      throw nb::value_error(
          printable(readable(format("{} is a constructor of {}, not of {}", c->name, c->data_type, header->name)))
              .c_str());
    if (c->tag >= 0 && c->tag != tag)
      throw nb::value_error(
          printable(readable(format("{} is number {} of another definition", c->name, c->tag))).c_str());
    const_cast<Constructor&>(*c).tag = tag;  // created for this definition, which completes it
    out.constructors.push_back(c);
  }
  return out;
}

void add_data(nb::module_& m) {
  nb::class_<Constructor, ExprNode>(m, "Constructor", "Constructor(\"Cons\", [a, List(a)], List): callable")
      .def(nb::new_([](std::string name, Types inputs, const Ref<const DataTypeName>& belong_to) {
             return make<Constructor>(std::move(name), std::move(inputs), belong_to->name, int64_t{-1});
           }),
           nb::arg("name_hint"), nb::arg("inputs"), nb::arg("belong_to"))
      .def_ro("name_hint", &Constructor::name)
      .def_ro("inputs", &Constructor::inputs)
      .def_prop_ro("belong_to", [](const Constructor& c) { return make<DataTypeName>(c.data_type); })
      .def_ro("tag", &Constructor::tag, "Its number in the definition.")
      .def("__eq__",
           [](const Constructor& a, nb::handle other) {
             if (!nb::isinstance<Constructor>(other)) return false;
             ConstructorRef b = nb::cast<ConstructorRef>(other);
             return a.name == b->name && a.data_type == b->data_type;
           })
      .def("__hash__", [](const Constructor& a) { return std::hash<std::string>()(a.data_type + "." + a.name); });

  nb::class_<TypeDef>(m, "TypeData", "TypeData(List, [a], [cons, nil]): type List[A] { Cons(A, List[A]), Nil }")
      .def(
          "__init__",
          [](TypeDef* self, const Ref<const DataTypeName>& header, Types type_vars,
             const std::vector<ConstructorRef>& constructors) {
            new (self) TypeDef(type_def(header, to_type_vars(std::move(type_vars)), constructors));
          },
          nb::arg("header"), nb::arg("type_vars"), nb::arg("constructors"))
      .def_prop_ro("header", [](const TypeDef& d) { return make<DataTypeName>(d.name); })
      .def_ro("type_vars", &TypeDef::type_params)
      .def_ro("constructors", &TypeDef::constructors);
  add_patterns(m);
  add_match(m);
}

}  // namespace relay::python
