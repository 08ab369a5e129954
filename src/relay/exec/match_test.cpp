// Decision trees and the code of functions, as texts.
#include "relay/exec/match.h"

#include <gtest/gtest.h>

#include "relay/exec/code.h"
#include "relay/ir/rewrite.h"

namespace relay::exec {
namespace {

using namespace ir;

// type List { Cons(.., ..), Nil }; type Color { Red, Green, Blue }; type Box { Box(..) }
TypeDefs types() {
  TypeDefs out;
  auto add = [&](const std::string& name, std::vector<std::pair<std::string, size_t>> constructors) {
    TypeDef& def = out[name];
    def.name = name;
    for (const auto& [c, fields] : constructors)
      def.constructors.push_back(Ref<const Constructor>(
          new Constructor(c, Types(fields, hole()), name, static_cast<int64_t>(def.constructors.size()))));
  };
  add("List", {{"Cons", 2}, {"Nil", 0}});
  add("Color", {{"Red", 0}, {"Green", 0}, {"Blue", 0}});
  add("Box", {{"Box", 1}});
  return out;
}

class Patterns {
 public:
  Pattern any() { return made(PatternKind::Wildcard); }
  Pattern bind(const std::string& name) {
    Ref<PatternNode> p = made(PatternKind::Var);
    p->var = var(name);
    return p;
  }
  Pattern tuple(std::vector<Pattern> inner) {
    Ref<PatternNode> p = made(PatternKind::Tuple);
    p->patterns = std::move(inner);
    return p;
  }
  Pattern data(const std::string& constructor, std::vector<Pattern> inner = {}) {
    Ref<PatternNode> p = made(PatternKind::Constructor);
    p->patterns = std::move(inner);
    for (const auto& [name, def] : types_)
      for (const Ref<const Constructor>& c : def.constructors)
        if (c->name == constructor) p->constructor = c;
    return p;
  }
  std::string tree(const std::vector<Pattern>& patterns) {
    std::vector<Clause> clauses;
    for (const Pattern& p : patterns) clauses.push_back({p, constant(1.0)});
    Ref<const Match> match(new Match(var("x"), clauses, false));
    Result<DecisionTree> tree = decide(*match, types_);
    return tree ? str(*tree) : render(tree.errors());
  }

 private:
  static Ref<PatternNode> made(PatternKind kind) {
    Ref<PatternNode> p(new PatternNode);
    p->kind = kind;
    return p;
  }
  TypeDefs types_ = types();
};

TEST(Match, nothing_is_tested_twice) {
  Patterns p;
  EXPECT_EQ(p.tree({p.tuple({p.data("Cons", {p.bind("a"), p.any()}), p.data("Nil")}), p.tuple({p.any(), p.bind("b")})}),
            "0: switch List 0.0 -> 1 2\n"
            "1: switch List 0.1 -> 3 4\n"
            "2: clause 1 %b = 0.1\n"
            "3: clause 1 %b = 0.1\n"
            "4: clause 0 %a = 0.0.0\n");
}

TEST(Match, constructors_that_no_clause_names_share_a_decision) {
  Patterns p;
  EXPECT_EQ(p.tree({p.data("Green"), p.any()}),
            "0: switch Color 0 -> 1 2 1\n"
            "1: clause 1\n"
            "2: clause 0\n");
  EXPECT_EQ(p.tree({p.data("Blue")}),
            "0: switch Color 0 -> 1 1 2\n"
            "1: fail\n"
            "2: clause 0\n");
}

TEST(Match, tuples_and_types_of_one_constructor_need_no_test) {
  Patterns p;
  EXPECT_EQ(p.tree({p.data("Box", {p.tuple({p.bind("a"), p.bind("b")})})}), "0: clause 0 %a = 0.0.0 %b = 0.0.1\n");
}

TEST(Match, too_many_tests_are_refused) {
  // Row i tests for Cons at places i and i + 1 of a tuple: every combination of the others has to be distinguished.
  Patterns p;
  std::vector<Pattern> rows;
  constexpr size_t n = 40;
  for (size_t i = 0; i < n; ++i) {
    std::vector<Pattern> row(n, p.any());
    for (size_t k = 0; k < n; ++k)
      if ((k + i * 7) % 5 == 0)
        row[k] = p.data((k + i) % 2 ? "Nil" : "Cons",
                        (k + i) % 2 ? std::vector<Pattern>{} : std::vector<Pattern>{p.any(), p.any()});
    rows.push_back(p.tuple(row));
  }
  EXPECT_NE(p.tree(rows).find("too many tests"), std::string::npos);
}

std::string text(Code& code) {
  runtime::Program program;
  program.types = {{"List", {{"Cons", 2}, {"Nil", 0}}}};
  program.functions.push_back(code.finish("f"));
  std::string all = runtime::str(program);
  return all.substr(all.find("fn f"));
}

TEST(Code, values_are_moved_at_the_last_use_and_dropped_where_no_way_needs_them) {
  // f(c, x, y): if c then (x, x) else y
  Code code(3);
  Code::Label otherwise = code.label(), join = code.label();
  uint32_t result = code.reg();
  code.branch_if_false(0, otherwise);
  code.move(code.tuple({1, 1}), result);
  code.jump(join);
  code.place(otherwise);
  code.move(2, result);
  code.jump(join);
  code.place(join);
  code.ret(result);
  EXPECT_EQ(text(code),
            "fn f(3 parameters, 4 registers) {\n"
            "     0: if not %0! jump 5\n"
            "     1: drop %2!\n"
            "     2: %0 = tuple(%1, %1!)\n"
            "     3: %3 = %0!\n"
            "     4: jump 7\n"
            "     5: drop %1!\n"
            "     6: %3 = %2!\n"
            "     7: return %3!\n"
            "}\n");
}

TEST(Code, what_nobody_uses_is_left_out) {
  // f(l, unused): an unneeded tuple and field, and a call with side effects
  Code code(2);
  code.tuple({code.field(0, 0), 0});
  code.call(0, {0});
  uint32_t copy = code.reg();
  code.move(0, copy);
  code.tail_call(0, {copy, code.tuple({})});
  EXPECT_EQ(text(code),
            "fn f(2 parameters, 2 registers) {\n"
            "     0: drop %1!\n"
            "     1: %1 = call f(%0)\n"
            "     2: drop %1!\n"
            "     3: %1 = tuple()\n"
            "     4: tail call f(%0!, %1!)\n"
            "}\n");
}

}  // namespace
}  // namespace relay::exec
