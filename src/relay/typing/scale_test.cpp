// Tests of size and depth: programs of any depth can be parsed, typed, printed, compared, hashed and released; large
// ones are read fast; after a change unchanged nodes are not typed anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "relay/ir/rewrite.h"
#include "relay/op/conditions.h"
#include "relay/scalar/simplify.h"
#include "relay/text/text.h"
#include "relay/typing/typing.h"

namespace relay::typing {
namespace {

using namespace ir;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// begin ... begin middle end ... end
std::string nested(int depth, const std::string& begin, const std::string& middle, const std::string& end) {
  std::string out;
  for (int i = 0; i < depth; ++i) out += begin;
  out += middle;
  for (int i = 0; i < depth; ++i) out += end;
  return out;
}

struct Deep {
  const char* name;
  std::string body;
};

TEST(Scale, programs_of_any_depth) {
  constexpr int deep = 100000;
  std::string chain;
  for (int i = 0; i < 1000000; ++i) chain += format("%{} = nn.relu({});\n", i, i == 0 ? "%x" : format("%{}", i - 1));
  const Deep programs[] = {
      {"lets in bodies", nested(deep, "let %a = %n; ", "%n", "")},
      {"lets in values", nested(deep, "let %a = (", "%n", "); %a")},
      {"ifs in branches", nested(deep, "if (%b) { %n } else { ", "%n", " }")},
      {"ifs in conditions", nested(deep, "if (", "%b", ") { %b } else { %b }")},
      {"matches in clauses", nested(deep, "match (%l) { Nil => %n, Cons(_, _) => ", "%n", " }")},
      {"matches in data", nested(deep, "match ((match? (%l) { Nil => (", "%l", ") })) { %y => %y }")},
      {"tuples", nested(deep, "(", "%n", ", %n).0")},
      {"lists", nested(deep, "Cons(%n, ", "Nil", ")")},
      {"functions", nested(deep, "fn (%f: int32) { ", "%n", " }(1)")},
      {"references", nested(deep, "ref_read(ref(", "%n", "))")},
      {"operators", nested(deep, "negative(", "%n", ")")},
      {"infix operators", nested(deep, "%n + (", "%n", ")")},
      {"a chain of a million calls", chain + "%999999"},
      {"blocks", nested(deep, "{ ", "%n", " }")},
  };
  for (const Deep& program : programs) {
    std::string text =
        "#[version = \"0.0.5\"]\ntype List[A] { Cons(A, List[A]), Nil }\n"
        "def @main(%x: Tensor[(4), float32], %n: int32, %b: bool, %l: List[int32]) {\n" +
        program.body + "\n}\n";
    SCOPED_TRACE(program.name);
    double start = seconds();
    Result<Module> module = text::parse(text);
    ASSERT_TRUE(module) << render(module.errors()).substr(0, 500);
    Result<Module> typed = infer(*module);
    ASSERT_TRUE(typed) << render(typed.errors()).substr(0, 500);
    std::string printed = text::str(*typed);

    Result<Module> again = text::parse(printed);
    ASSERT_TRUE(again) << render(again.errors()).substr(0, 500);
    EXPECT_TRUE(equal(*again, *typed));
    EXPECT_EQ(hash(*again), hash(*typed));
    std::printf("%-28s %5.2f s, %zu bytes printed\n", program.name, seconds() - start, printed.size());
  }
}

std::string definition(int i, const char* body) {
  return format(
      "def @f{}(%x: Tensor[(n, 4), float32], %y: float32) -> Tensor[(n, 4), float32] {{\n"
      "  let %z = add(%x, %y);\n  {}\n}}\n",
      i, body);
}

TEST(Scale, ten_thousand_definitions) {
  std::string text = "#[version = \"0.0.5\"]\n";
  for (int i = 0; i < 10000; ++i) text += definition(i, i == 0 ? "%z" : format("@f{}(nn.relu(%z), %y)", i - 1).c_str());
  double start = seconds();
  Result<Module> module = text::parse(text);
  double read = seconds() - start;
  ASSERT_TRUE(module) << render(module.errors()).substr(0, 500);
  EXPECT_LT(read, 1.0);
  start = seconds();
  Result<Module> typed = infer(*module);
  double all = seconds() - start;
  ASSERT_TRUE(typed) << render(typed.errors()).substr(0, 500);
  // A single function changes: the others keep their types, and are not visited.
  FunctionRef old = typed->functions.at("f5000");
  typed->functions["f5000"] = function(old->params, as<Let>(old->body)->value, old->result_type);
  double one = all;  // the best of several, because other processes may interrupt a run
  Result<Module> again = infer(*typed);
  for (int i = 0; i < 5; ++i) {
    start = seconds();
    again = infer(*typed);
    one = std::min(one, seconds() - start);
  }
  ASSERT_TRUE(again) << render(again.errors()).substr(0, 500);
  for (const auto& [name, f] : again->functions)
    if (name != "f5000") EXPECT_EQ(f, typed->functions.at(name));
  EXPECT_TRUE(again->functions.at("f5000")->type);
  // Alone it takes 0.18 of it; beside other tests, which use the cache, up to 0.29.
  EXPECT_LT(one, all / 2) << "typing 1 of 10000 functions took " << one << " s, all of them " << all << " s";
  std::printf("10000 definitions: read in %.0f ms, typed in %.0f ms, one of them again in %.1f ms\n", read * 1e3,
              all * 1e3, one * 1e3);
}

// Four times as many conditions take about four times as long, not sixteen: sizes that must be equal, bounds,
// multiples.
TEST(Scale, many_conditions) {
  auto seconds_of = [](int count) {
    const scalar::Expr n = scalar::var("n");
    std::vector<op::Condition> all;
    for (int i = 0; i < count; ++i) {
      const scalar::Expr m = scalar::var("m");
      all.push_back({op::Condition::Kind::Equal, n, m});
      all.push_back({op::Condition::Kind::AtLeast, m, scalar::imm(7)});
      all.push_back({op::Condition::Kind::Multiple, m, n});
    }
    const std::clock_t start = std::clock();
    op::Conditions set;
    set.add(all);
    set.add(all);
    EXPECT_EQ(set.list().size(), all.size());
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  seconds_of(1000);
  const double few = std::min(seconds_of(3000), seconds_of(3000)),
               many = std::min(seconds_of(12000), seconds_of(12000));
  std::printf("conditions: %.3f s, four times as many %.3f s\n", few, many);
  EXPECT_LT(many, 9 * few);
}

TEST(Scale, multiples_are_joined) {
  const scalar::Expr h = scalar::var("h");
  op::Conditions set;
  for (int64_t part : {8, 4, 2, 1})
    set.add({op::Condition::Kind::Multiple, scalar::simplify(scalar::floordiv(h, scalar::imm(part))), scalar::imm(2)});
  set.add({op::Condition::Kind::AtLeast, h, scalar::imm(3)});
  std::vector<std::string> found;
  for (const op::Condition& c : set.list()) found.push_back(c.str());
  EXPECT_EQ(format("{}", join(found, "; ")), "h % 16 == 0; h >= 3");
}

}  // namespace
}  // namespace relay::typing
