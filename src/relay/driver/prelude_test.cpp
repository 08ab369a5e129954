// Tests every function of the prelude on small programs, with their results next to them.
#include "relay/prelude/prelude.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "relay/eval/eval.h"
#include "relay/ir/rewrite.h"
#include "relay/text/text.h"
#include "relay/typing/typing.h"

namespace relay::eval {
namespace {

// Values as text: 3, [1, 2] for a list, (1, 2) for a tuple, Some(1), tensor (2, 1) {1, 2}.
std::string show(const Value& v) {
  auto all = [](const Values& fields) {
    std::string out;
    for (const Value& f : fields) out += (out.empty() ? "" : ", ") + show(f);
    return out;
  };
  if (const TupleValue* t = as_tuple(v)) return "(" + all(t->fields) + ")";
  if (const DataValue* d = as_data(v)) {
    if (d->constructor->name != "Cons" && d->constructor->name != "Nil")
      return d->constructor->name + (d->fields.empty() ? "" : "(" + all(d->fields) + ")");
    Values elements;
    for (; d->constructor->name == "Cons"; d = as_data(d->fields[1])) elements.push_back(d->fields[0]);
    return "[" + all(elements) + "]";
  }
  if (!v.tensor) return str(v);
  std::string values = format("{}", join(v.tensor.to_doubles(), ", "));
  return v.tensor.rank() == 0 ? values : format("({}) {{{}}}", join(v.tensor.shape(), ", "), values);
}

std::string evaluated(const std::string& imports, const std::string& expression) {
  Result<ir::Module> module =
      text::parse("#[version = \"0.0.5\"]\n" + imports + "\ndef @main() {\n" + expression + "\n}\n");
  if (!module) return render(module.errors());
  Result<ir::Module> typed = typing::infer(*module);
  if (!typed) return render(typed.errors());
  Result<Value> value = run(*typed, "main", {});
  return value ? show(*value) : render(value.errors());
}

// Cons(1, Cons(2, ... Nil))
std::string list(int from, int to) {
  std::string out = "Nil";
  for (int i = to; i >= from; --i) out = format("Cons({}, {})", i, out);
  return out;
}

struct Case {
  std::string expression, result;
};

void check(const std::string& imports, const std::vector<Case>& cases) {
  for (const Case& c : cases) EXPECT_EQ(evaluated(imports, c.expression), c.result) << c.expression;
}

TEST(Prelude, functions) {
  std::string doubled = "fn (%x: int32) -> int32 { %x * 2 }", next = "fn (%x: int32) -> int32 { %x + 1 }";
  check("import \"function\"", {{"(@id(3), @id(True))", "(3, 1)"},
                                {"@compose(" + doubled + ", " + next + ")(5)", "12"},
                                {"@compose(" + next + ", " + doubled + ")(5)", "11"},
                                {"@flip(fn (%a: int32, %b: int32) -> int32 { %a - %b })(1, 10)", "9"},
                                {"@iterate(" + doubled + ", 5)(1)", "32"},
                                {"@iterate(" + doubled + ", 0)(1)", "1"}});
}

TEST(Prelude, lists) {
  std::string five = list(1, 5);
  std::string minus = "fn (%a: int32, %b: int32) -> int32 { %a - %b }";
  std::string running = "fn (%s: int32, %x: int32) -> (int32, int32) { (%s + %x, %s * %x) }";
  std::string countdown =
      "fn (%n: int32) -> Option[(int32, int32)] { if (%n > 0) { Some((%n - 1, %n * %n)) } else { None } }";
  check("import \"list\"", {{"@hd(" + five + ")", "1"},
                            {"@tl(" + five + ")", "[2, 3, 4, 5]"},
                            {"(@nth(" + five + ", 0), @nth(" + five + ", 4))", "(1, 5)"},
                            {"@length(" + five + ")", "5"},
                            {"let %none: List[bool] = Nil; @length(%none)", "0"},
                            {"@update(" + five + ", 2, 9)", "[1, 2, 9, 4, 5]"},
                            {"@map(fn (%x: int32) -> bool { %x > 3 }, " + five + ")", "[0, 0, 0, 1, 1]"},
                            {"@foldl(" + minus + ", 100, " + five + ")", "85"},
                            {"@foldr(" + minus + ", 100, " + five + ")", "-97"},  // 1 - (2 - (3 - (4 - (5 - 100))))
                            {"@foldr1(" + minus + ", " + five + ")", "3"},
                            {"@foldr1(" + minus + ", Cons(7, Nil))", "7"},
                            {"@sum(" + five + ")", "15"},
                            {"@concat(" + five + ", " + list(7, 8) + ")", "[1, 2, 3, 4, 5, 7, 8]"},
                            {"@filter(fn (%x: int32) -> bool { %x > 2 }, " + five + ")", "[3, 4, 5]"},
                            {"@zip(" + five + ", Cons(True, Cons(False, Nil)))", "[(1, 1), (2, 0)]"},
                            {"@zip(Cons(True, Nil), " + five + ")", "[(1, 1)]"},
                            {"@rev(" + five + ")", "[5, 4, 3, 2, 1]"},
                            {"@map_accumr(" + running + ", 0, " + five + ")", "(15, [14, 24, 27, 20, 0])"},
                            {"@map_accuml(" + running + ", 0, " + five + ")", "(15, [0, 2, 9, 24, 50])"},
                            {"@unfoldr(" + countdown + ", 4)", "[16, 9, 4, 1]"},
                            {"@unfoldl(" + countdown + ", 4)", "[1, 4, 9, 16]"}});
  for (const char* partial : {"@hd(Nil)", "@tl(Nil)", "@nth(Cons(1, Nil), 1)", "@update(Nil, 0, 1)"})
    EXPECT_NE(evaluated("import \"list\"", format("@id({})", partial)).find("error["), std::string::npos) << partial;
}

TEST(Prelude, options_and_trees) {
  check("import \"prelude\"",
        {{"@map(fn (%x: int32) -> Option[int32] { if (%x == 2) { Some(%x) } else { None } }, " + list(1, 3) + ")",
          "[None, Some(2), None]"},
         {"@tmap(fn (%x: int32) -> int32 { %x * 10 }, Rose(1, Cons(Rose(2, Nil), Cons(Rose(3, Cons(Rose(4, Nil), "
          "Nil)), Nil))))",
          "Rose(10, [Rose(20, []), Rose(30, [Rose(40, [])])])"},
         {"@size(Rose(1, Cons(Rose(2, Nil), Cons(Rose(3, Cons(Rose(4, Nil), Nil)), Nil))))", "4"}});
}

// Stored in reverse order: the sequence 1, 2, 3 is Cons(3, Cons(2, Cons(1, Nil))).
TEST(Prelude, sequences) {
  std::string three = "Cons(3, Cons(2, Cons(1, Nil)))";
  check("import \"sequence\"",
        {{"@sequence_length(" + three + ")", "3"},
         {"let %xs = " + three +
              "; (@sequence_depth(%xs, 0i64), @sequence_depth(%xs, 2i64), @sequence_depth(%xs, -1i64))",
          "(2, 0, 0)"},
         {"(@sequence_place(0i64, 3i64), @sequence_place(-1i64, 3i64))", "(0, 2)"},
         {"(@sequence_at(" + three + ", 0i64), @sequence_at(" + three + ", -1i64))", "(1, 3)"},
         {"@sequence_insert(" + three + ", 0i64, 9)", "[3, 2, 1, 9]"},
         {"@sequence_insert(" + three + ", 3i64, 9)", "[9, 3, 2, 1]"},
         {"@sequence_insert(" + three + ", -1i64, 9)", "[3, 9, 2, 1]"},
         {"@sequence_put(" + three + ", 1, 9)", "[3, 9, 2, 1]"},
         {"@sequence_erase(" + three + ", 0i64)", "[3, 2]"},
         {"@sequence_erase(" + three + ", -1i64)", "[2, 1]"},
         {"@sequence_drop(" + three + ", 1)", "[3, 1]"},
         {"let %none: Option[int32] = None; (@optional_has(Some(4)), @optional_has(%none))", "(1, 0)"},
         {"@optional_get(Some(4))", "4"},
         {"let %none: Option[List[int32]] = None; (@optional_rev(Some(" + three + ")), @optional_rev(%none))",
          "(Some([1, 2, 3]), None)"}});
  const std::pair<const char*, const char*> partial[] = {
      {"@sequence_at(Cons(1, Nil), 1i64)", "index 1 is out of range"},
      {"@sequence_at(Cons(1, Nil), -2i64)", "which has 1 row"},
      {"let %none: List[int32] = Nil; @sequence_erase(%none, 0i64)", "which has 0 rows"},
      {"@sequence_insert(Cons(1, Nil), 2i64, 5)", "which has 2 rows"},
      {"@sequence_insert(Cons(1, Nil), -2i64, 5)", "index -2"}};
  for (const auto& [call, wrong] : partial) {
    const std::string said = evaluated("import \"sequence\"", call);
    EXPECT_NE(said.find("the place in a sequence: "), std::string::npos) << said;
    EXPECT_NE(said.find(wrong), std::string::npos) << said;
  }
  EXPECT_NE(evaluated("import \"sequence\"", "let %n: Option[int32] = None; @optional_get(%n)").find("error["),
            std::string::npos);
}

TEST(Prelude, natural_numbers) {
  std::string two = "succ(succ(zero))", three = "succ(" + two + ")";
  check("import \"nat\"", {{"@nat_double(" + two + ")", "succ(succ(succ(succ(zero))))"},
                           {"@nat_add(" + two + ", " + three + ")", "succ(succ(succ(succ(succ(zero)))))"},
                           {"@nat_nth(" + list(1, 5) + ", " + two + ")", "3"},
                           {"@nat_update(" + list(1, 4) + ", " + two + ", 0)", "[1, 2, 0, 4]"},
                           {"@nat_iterate(fn (%x: int32) -> int32 { %x * 3 }, " + three + ")(1)", "27"}});
}

TEST(Prelude, gradient_cells) {
  std::string one = "One(fn () -> float32 { 1f })", zero = "Zero(fn () -> float32 { 0f })";
  std::string times = "fn (%a: float32, %b: float32) -> float32 { %a * %b }";
  std::string plus = "fn (%a: float32, %b: float32) -> float32 { %a + %b }";
  auto both = [](const std::string& f, const std::string& op, const std::string& a, const std::string& b) {
    return "@FromGradCell(" + f + "(" + op + ", " + a + ", " + b + "))";
  };
  check("import \"gradient\"", {{"@FromGradCell(Raw(3f))", "3"},
                                {"@FromGradCell(" + one + ")", "1"},
                                {"@FromGradCell(" + zero + ")", "0"},
                                {both("@MultiplyGradCell", times, "Raw(3f)", "Raw(4f)"), "12"},
                                {both("@MultiplyGradCell", times, "Raw(3f)", one), "3"},
                                {both("@MultiplyGradCell", times, one, "Raw(3f)"), "3"},
                                {both("@MultiplyGradCell", times, zero, "Raw(3f)"), "0"},
                                {both("@AddGradCell", plus, "Raw(3f)", "Raw(4f)"), "7"},
                                {both("@AddGradCell", plus, zero, "Raw(4f)"), "4"},
                                {both("@AddGradCell", plus, one, one), "2"}});
  // Known zeros and ones are neither multiplied nor materialised.
  check("import \"gradient\"", {{"@MultiplyGradCell(" + times + ", " + one + ", Raw(3f))", "Raw(3)"},
                                {"@AddGradCell(" + plus + ", Raw(3f), " + zero + ")", "Raw(3)"}});
}

TEST(Prelude, tensor_arrays_of_any_rank) {
  std::string m = "meta";
  std::string iota =
      "reshape(cast(cumsum(ones(shape=[6], dtype=\"int32\"), axis=0), dtype=\"float32\"), newshape=[3, 2])";
  std::string rows = "@tensor_array_unstack_tensor2_float32(" + iota + ")";
  std::string indices = "stack((2, 0), axis=0)";
  check(
      "import \"tensor_array_float32\"",
      {{"@tensor_array_float32(2)", "[tensor_nil_float32, tensor_nil_float32]"},
       {"@tensor_array_read_float32(@tensor_array_write_float32(@tensor_array_float32(3), 1, tensor0_float32(2f)), 1)",
        "tensor0_float32(2)"},
       {rows, "[tensor1_float32((2) {1, 2}), tensor1_float32((2) {3, 4}), tensor1_float32((2) {5, 6})]"},
       {"@tensor_array_unstack_tensor1_float32(reshape(" + iota + ", newshape=[-1]))",
        "[tensor0_float32(1), tensor0_float32(2), tensor0_float32(3), tensor0_float32(4), tensor0_float32(5), "
        "tensor0_float32(6)]"},
       {"@tensor_take_float32(tensor2_float32(" + iota + "), 1, 3)", "tensor2_float32((2, 2) {3, 4, 5, 6})"},
       {"@tensor_take_float32(tensor2_float32(" + iota + "), 1, 1)", "tensor2_float32((0, 2) {})"},
       {"@tensor_expand_dims_float32(tensor0_float32(4f))", "tensor1_float32((1) {4})"},
       {"@tensor_concatenate_float32(tensor2_float32(" + iota + "), tensor2_float32(" + iota + "))",
        "tensor2_float32((6, 2) {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6})"},
       {"@tensor_array_stack_float32(" + rows + ")", "tensor2_float32((3, 2) {1, 2, 3, 4, 5, 6})"},
       {"@tensor_array_concat_float32(" + rows + ")", "tensor1_float32((6) {1, 2, 3, 4, 5, 6})"},
       {"@tensor_array_gather_float32(" + rows + ", " + indices + ")", "tensor2_float32((2, 2) {5, 6, 1, 2})"},
       {"@tensor_array_scatter_float32(@tensor_array_float32(3), " + indices + ", " + rows + ")",
        "[tensor1_float32((2) {3, 4}), tensor_nil_float32, tensor1_float32((2) {1, 2})]"},
       {"@tensor_array_split_float32(@tensor_array_float32(2), tensor2_float32(" + iota + "), stack((1, 2), axis=0))",
        "[tensor2_float32((1, 2) {1, 2}), tensor2_float32((2, 2) {3, 4, 5, 6})]"}});
}

TEST(Prelude, tensor_arrays_of_one_shape) {
  std::string iota = "reshape(cumsum(ones(shape=[4], dtype=\"int64\"), axis=0), newshape=[2, 2])";
  std::string name = "int64_2_2", made = "tensor_constructor_int64_2_2(" + iota + ")";
  std::string array = "Cons(" + made + ", Cons(" + made + ", Nil))";
  check(
      "import \"tensor_array_int64_2_2\" import \"tensor_array_int64_2\" import \"tensor_array_int64_any_2\" import "
      "\"tensor_array_int64_scalar\"",
      {{"@tensor_get_data_int64_2_2(" + made + ")", "(2, 2) {1, 2, 3, 4}"},
       {"@tensor_array_int64_2_2(1)", "[tensor_nil_int64_2_2]"},
       {"@tensor_take_int64_2_2(" + made + ", 1, 2)", "tensor_constructor_int64_any_2((1, 2) {3, 4})"},
       {"@tensor_concatenate_int64_2_2(" + made + ", " + made + ")",
        "tensor_constructor_int64_any_2((4, 2) {1, 2, 3, 4, 1, 2, 3, 4})"},
       {"@tensor_array_stack_int64_2_2(" + array + ")",
        "tensor_constructor_int64_any_2_2((2, 2, 2) {1, 2, 3, 4, 1, 2, 3, 4})"},
       {"@tensor_array_gather_int64_2_2(" + array + ", stack((1,), axis=0))",
        "tensor_constructor_int64_any_2_2((1, 2, 2) {1, 2, 3, 4})"},
       {"@tensor_array_unstack_int64_2(" + iota + ")",
        "[tensor_constructor_int64_2((2) {1, 2}), tensor_constructor_int64_2((2) {3, 4})]"},
       {"@tensor_array_concat_int64_any_2(Cons(tensor_constructor_int64_any_2(" + iota + "), Nil))",
        "tensor_constructor_int64_any_2((2, 2) {1, 2, 3, 4})"},
       {"@tensor_array_split_int64_any_2(@tensor_array_int64_any_2(1), tensor_constructor_int64_any_2(" + iota +
            "), stack((2,), axis=0))",
        "[tensor_constructor_int64_any_2((2, 2) {1, 2, 3, 4})]"},
       {"@tensor_get_data_int64_scalar(@tensor_array_read_int64_scalar(Cons(tensor_constructor_int64_scalar(3i64), "
        "Nil), 0))",
        "3"}});
}

// The tests above name every function of the files.
TEST(Prelude, every_function_has_a_test) {
  std::ifstream file(__FILE__);
  if (!file) file.open(std::string(RELAY_SOURCE_DIR) + "/src/relay/driver/prelude_test.cpp");
  std::string self((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ASSERT_FALSE(self.empty());
  std::set<std::string> seen;
  for (const std::string& name : prelude::parts()) {
    Result<ir::Module> module = text::import_prelude({}, name);
    ASSERT_TRUE(module) << render(module.errors());
    EXPECT_TRUE(typing::infer(*module)) << name;
    for (const auto& [function, f] : module->functions) {
      EXPECT_NE(self.find("@" + function + "("), std::string::npos) << function;
      EXPECT_TRUE(f->result_type) << function;
      seen.insert(function);
    }
  }
  EXPECT_EQ(seen.size(), 24u + 5u + 3u + 11u);
}

TEST(Prelude, parts_of_every_element_type) {
  for (const char* dtype : {"float32", "float16", "float64", "int32", "uint8", "int8", "int16", "uint16", "int64"}) {
    Result<ir::Module> module = text::import_prelude({}, format("tensor_array_{}", dtype));
    ASSERT_TRUE(module) << render(module.errors());
    Result<ir::Module> typed = typing::infer(*module);
    EXPECT_TRUE(typed) << render(typed.errors());
  }
}

TEST(Prelude, imports) {
  // Imported twice, in any order, with its dependencies: one definition each. Printed text needs no import.
  Result<ir::Module> a = text::parse(
      "#[version = \"0.0.5\"]\nimport \"tree\"\nimport \"list\"\nimport \"prelude.rly\"\ndef @main(%x: Tree[int32]) { "
      "@size(%x) }");
  ASSERT_TRUE(a) << render(a.errors());
  Result<ir::Module> b = text::parse(text::str(*a));
  ASSERT_TRUE(b) << render(b.errors());
  EXPECT_TRUE(ir::equal(*a, *b));
  EXPECT_EQ(a->types.size(), 3u);
  EXPECT_EQ(a->functions.size(), 25u);
  // Into a module that already has it, and into one with another definition of the name.
  Result<ir::Module> again = text::import_prelude(*a, "list");
  ASSERT_TRUE(again);
  EXPECT_TRUE(ir::equal(*a, *again));
  ir::Module other;
  other.functions["map"] = ir::function({}, ir::tuple({}));
  Result<ir::Module> refused = text::import_prelude(other, "list");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.errors()[0].kind, DiagnosticKind::duplicate_definition);
  for (const char* name :
       {"lists", "tensor_array_", "tensor_array_float31", "tensor_array_float32_x", "tensor_array_float32_"}) {
    Result<ir::Module> none = text::import_prelude({}, name);
    ASSERT_FALSE(none) << name;
    EXPECT_EQ(none.errors()[0].kind, DiagnosticKind::unknown_import);
  }
}

}  // namespace
}  // namespace relay::eval
