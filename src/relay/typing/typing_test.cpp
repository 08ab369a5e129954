// Tests of inference: types of valid programs (testdata/*.relay with their types), messages for invalid ones
// (testdata/errors), depth, speed, and randomly broken programs. RELAY_BLESS=1 rewrites the expected texts.
#include "relay/typing/typing.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "relay/base/test_golden.h"
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/text/text.h"

namespace relay::typing {
namespace {

namespace fs = std::filesystem;
using namespace ir;
using test::expect_golden;
using test::read;

const fs::path testdata = fs::path(__FILE__).parent_path() / "testdata";

Result<Module> inferred(const std::string& name, const std::string& text) {
  Result<Module> module = text::parse(std::make_shared<const Source>(Source{name, text}));
  if (!module) return module;
  return infer(*module);
}

std::string type_of(const std::string& text) {
  Result<Expr> e = text::parse_expr(text);
  if (!e) return render(e.errors());
  Result<Type> type = infer_expr(*e);
  return type ? text::type_text(*type) : render(type.errors());
}

TEST(Typing, golden_programs) {
  for (const fs::path& path : test::programs(testdata)) {
    Result<Module> module = inferred(path.filename().string(), read(path));
    EXPECT_TRUE(module) << render(module ? Diagnostics() : module.errors());
    if (!module) continue;
    for (const auto& [name, f] : module->functions)
      ir::visit(Expr(f), [&](const Expr& e) {
        if (e->kind != ExprKind::Op) EXPECT_TRUE(e->type && is_complete(e->type)) << name;
      });
    fs::path expected = path;
    expect_golden(expected.replace_extension(".typed"), text::str(*module, {.types = true}));
    EXPECT_TRUE(infer(*module));
  }
}

TEST(Typing, golden_errors) {
  for (const fs::path& path : test::programs(testdata / "errors")) {
    Result<Module> parsed = text::parse(std::make_shared<const Source>(Source{path.filename().string(), read(path)}));
    ASSERT_TRUE(parsed) << render(parsed.errors());
    Result<Module> module = infer(*parsed);
    EXPECT_FALSE(module) << path;
    if (module) continue;
    for (const auto& [name, f] : parsed->functions) EXPECT_FALSE(f->type) << "types are taken away after errors";
    fs::path expected = path;
    expect_golden(expected.replace_extension(".expected"), render(module.errors()));
    Result<Module> again = infer(*parsed);
    ASSERT_FALSE(again);
    EXPECT_EQ(render(again.errors()), render(module.errors())) << "a second run says the same";
  }
}

TEST(Typing, expressions) {
  EXPECT_EQ(type_of("1"), "int32");
  EXPECT_EQ(type_of("(1f, (True, 2i64)).1.0"), "bool");
  EXPECT_EQ(type_of("fn (%x: int32) { (%x, %x) }"), "fn (int32) -> (int32, int32)");
  EXPECT_EQ(type_of("let %f = fn (%x) { %x }; %f(1)"), "int32");
  EXPECT_EQ(type_of("let %f = fn [A](%x: A) -> A { %x }; (%f(1), %f(2f))"), "(int32, float32)");
  EXPECT_EQ(type_of("let %f = fn (%n: int32) -> int32 { if (True) { %f(%n) } else { %n } }; %f"),
            "fn (int32) -> int32");
  EXPECT_EQ(type_of("let %r = ref(1); ref_write(%r, 2); ref_read(%r)"), "int32");
  EXPECT_EQ(type_of("fn (%g: fn (int32) -> bool, %x) { %g(%x) }"), "fn (fn (int32) -> bool, int32) -> bool");
  EXPECT_EQ(type_of("fn (%t) { (%t.1, fn (%u: (int32, bool)) { %u }(%t)) }"),
            "fn ((int32, bool)) -> (bool, (int32, bool))");
  EXPECT_EQ(
      type_of("fn (%x: Tensor[(m, 4), float32]) { let %f = fn (%y: Tensor[(k, 4), float32]) { (%y, %x) }; %f(%x).0 }"),
      "fn (Tensor[(m, 4), float32]) -> Tensor[(m, 4), float32]");
  EXPECT_EQ(type_of("free_var %x: Tensor[(3), int8]; if (True) { %x } else { %x }"), "Tensor[(3), int8]");
}

// A generic callee's type variables, in its order; other calls have none.
TEST(Typing, type_arguments_of_calls) {
  Result<Module> m = inferred("text", R"(#[version = "0.0.5"]
type Option[A] { Some(A), None }
def @pair[A, B](%a: A, %b: B) -> (A, B) { (%a, %b) }
def @plain(%a: int32) -> int32 { %a }
def @main(%x: Tensor[(n, 2), float32]) { (@pair(%x, True), Some(1), @plain(1), add(%x, %x)) }
)");
  ASSERT_TRUE(m) << render(m.errors());
  std::vector<std::string> found;
  ir::visit(Expr(m->functions.at("main")), [&](const Expr& e) {
    const Call* call = as<Call>(e);
    for (const Type& arg : call ? call->type_args : Types()) found.push_back(text::type_text(arg));
  });
  EXPECT_EQ(found, (std::vector<std::string>{"Tensor[(n, 2), float32]", "bool", "int32"}));
}

// If branches yield a generic function and one of fixed types, the first is instantiated with the types of the second.
TEST(Typing, branches_with_one_generic_function) {
  for (const char* branches : {"%f } else { %g", "%g } else { %f"})
    EXPECT_EQ(
        type_of(format("let %f = fn [A](%x: A) -> A {{ %x }}; let %g = fn (%x: int32) {{ %x }}; if (True) {{ {} }}",
                       branches)),
        "fn (int32) -> int32");
}

TEST(Typing, warnings_of_good_programs) {
  Module m = *text::parse(
      "#[version = \"0.0.5\"]\ntype T { A, B }\n"
      "def @main(%x: T) { match (%x) { A => 1, _ => 2, B => 3 } }");
  Diagnostics warnings;
  ASSERT_TRUE(infer(m, &warnings));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].kind, DiagnosticKind::unreachable_clause);
  EXPECT_EQ(warnings[0].severity, Severity::Warning);
}

// The situation after a compiler pass: one node is new, the others keep their types and are not visited.
TEST(Typing, incremental) {
  Module m = *text::parse(
      "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(4), float32]) { let %y = (%x, 1); let %z = %y.0; (%z, %z) }");
  m = *infer(m);
  const Function* f = m.functions["main"].get();
  const Let* outer = as<Let>(f->body);
  Type kept = as<Let>(outer->body)->type;
  Expr value = tuple({outer->value, outer->value});
  Expr body = let(var("t"), value, f->body);
  EXPECT_TRUE(infer_expr(function(f->params, body)));
  EXPECT_EQ(as<Let>(outer->body)->type, kept);
  // A let whose value changes its type: uses of the variable are typed anew.
  Expr changed = let(outer->var, tuple({constant(1), constant(2)}), outer->body);
  Result<Type> type = infer_expr(changed);
  ASSERT_TRUE(type) << render(type.errors());
  EXPECT_EQ(text::type_text(*type), "(float32, float32)");
}

TEST(Typing, a_chain_of_a_million_nodes) {
  VarRef x = var("x", tensor_type({4}, DType::float32()));
  Expr e = x;
  for (int i = 0; i < 1000000; ++i) e = get(tuple({e, x}), 0);
  Result<Type> type = infer_expr(function({x}, e));
  ASSERT_TRUE(type) << render(type.errors());
}

TEST(Typing, a_chain_of_a_million_operators) {
  const op::OpDef* def = op::find("exp");
  ASSERT_TRUE(def);
  VarRef x = var("x", tensor_type({4}, DType::float32()));
  Expr e = x;
  for (int i = 0; i < 1000000; ++i) e = call(op::node(*def), {e});
  Result<Type> type = infer_expr(function({x}, e));
  ASSERT_TRUE(type) << render(type.errors());
}

TEST(Typing, a_hundred_thousand_lets_and_branches) {
  VarRef x = var("x", scalar_type(DType::boolean()));
  Expr lets = x, branches = x;
  for (int i = 0; i < 100000; ++i) {
    VarRef y = var("y");
    lets = let(y, tuple({x, x}), lets);
    branches = if_(x, branches, x);
  }
  EXPECT_TRUE(infer_expr(function({x}, lets)));
  EXPECT_TRUE(infer_expr(function({x}, branches)));
}

TEST(Typing, types_that_explode_are_refused) {
  Expr doubled = constant(1), deep = constant(1);
  for (int i = 0; i < 100; ++i) doubled = tuple({doubled, doubled});
  for (int i = 0; i < 100000; ++i) deep = tuple({deep});
  for (const Expr& e : {doubled, deep}) {
    Result<Type> type = infer_expr(e);
    ASSERT_FALSE(type);
    EXPECT_EQ(type.errors()[0].kind, DiagnosticKind::nesting_too_deep);
    EXPECT_EQ(type.errors().size(), 1u);
  }
}

// Tokens of valid programs are deleted, doubled, exchanged: the result is a module or diagnostics.
TEST(Typing, programs_broken_at_random) {
  std::vector<std::string> programs, words;
  for (const fs::path& folder :
       {testdata, testdata / "errors", testdata.parent_path().parent_path() / "text" / "testdata"})
    for (const fs::path& path : test::programs(folder)) programs.push_back(read(path));
  auto tokens = [](const std::string& text) {
    std::vector<std::string> out;
    auto kind = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? 1
             : std::isspace(static_cast<unsigned char>(c))           ? 2
                                                                     : 3;
    };
    for (size_t i = 0; i < text.size();) {
      size_t end = i + 1;
      while (end < text.size() && kind(text[i]) != 3 && kind(text[end]) == kind(text[i])) ++end;
      out.push_back(text.substr(i, end - i));
      i = end;
    }
    return out;
  };
  for (const std::string& program : programs)
    for (const std::string& word : tokens(program)) words.push_back(word);
  std::mt19937 random(20260101);
  auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  int rounds = std::getenv("RELAY_FUZZ_ROUNDS") ? std::atoi(std::getenv("RELAY_FUZZ_ROUNDS")) : 20000;
  int typed = 0, refused = 0, unparsed = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::string> text = tokens(programs[below(programs.size())]);
    for (size_t edits = 1 + below(4); edits > 0 && text.size() > 12; --edits) {
      size_t at = 10 + below(text.size() - 10);  // the version stays
      switch (below(4)) {
        case 0: text.erase(text.begin() + static_cast<std::ptrdiff_t>(at)); break;
        case 1: text.insert(text.begin() + static_cast<std::ptrdiff_t>(at), words[below(words.size())]); break;
        case 2: text[at] = words[below(words.size())]; break;
        default: std::swap(text[at], text[10 + below(text.size() - 10)]);
      }
    }
    std::string program;
    for (const std::string& token : text) program += token;
    SCOPED_TRACE(program);
    try {
      Result<Module> module = text::parse(program);
      if (!module) {
        ++unparsed;
        EXPECT_FALSE(module.errors().empty());
        render(module.errors());
        continue;
      }
      std::string printed = text::str(*module);
      Result<Module> again = text::parse(printed);
      EXPECT_TRUE(again) << printed << render(again ? Diagnostics() : again.errors());
      if (again) EXPECT_EQ(text::str(*again), printed);
      Result<Module> result = infer(*module);
      result ? ++typed : ++refused;
      if (!result) {
        EXPECT_FALSE(result.errors().empty());
        render(result.errors());
      } else {
        text::str(*result, {.types = true});
      }
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    if (::testing::Test::HasFailure()) break;
  }
  std::printf("%d typed, %d refused by inference, %d by the parser\n", typed, refused, unparsed);
}

}  // namespace
}  // namespace relay::typing
