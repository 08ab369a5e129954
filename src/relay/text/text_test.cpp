// Printing and parsing: golden texts (testdata/*.relay print as themselves), round trips, diagnostics
// (testdata/errors), depth. RELAY_BLESS=1 rewrites the expected texts.
#include "relay/text/text.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "relay/base/test_golden.h"
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"

namespace relay::text {
namespace {

namespace fs = std::filesystem;
using namespace ir;
using test::expect_golden;
using test::read;

const fs::path testdata = fs::path(__FILE__).parent_path() / "testdata";

Module parsed(const std::string& text) {
  Result<Module> module = parse(text);
  EXPECT_TRUE(module) << render(module ? Diagnostics() : module.errors()) << text.substr(0, 2000);
  return module ? *module : Module();
}

TEST(Text, golden_programs_print_as_themselves) {
  for (const fs::path& path : test::programs(testdata)) {
    Result<Module> module = parse(std::make_shared<const Source>(Source{path.filename().string(), read(path)}));
    ASSERT_TRUE(module) << render(module.errors());
    std::string printed = str(*module);
    Module again = parsed(printed);
    EXPECT_TRUE(equal(*module, again)) << path << "\n" << printed;
    EXPECT_EQ(printed, str(again)) << path;
    fs::path expected = path;
    expect_golden(expected.replace_extension(".printed"), printed);
  }
}

TEST(Text, golden_errors) {
  for (const fs::path& path : test::programs(testdata / "errors")) {
    Result<Module> module = parse(std::make_shared<const Source>(Source{path.filename().string(), read(path)}));
    ASSERT_FALSE(module) << path;
    fs::path expected = path;
    expect_golden(expected.replace_extension(".expected"), render(module.errors()));
  }
}

TEST(Text, types) {
  for (const char* text :
       {"float32", "Tensor[(2, ?), int8]", "(int32, Tensor[(1), bool])", "()", "(int64,)", "fn (int32) -> int32",
        "fn [A](A, A) -> (A, A)", "ref(float16)", "Tensor[(m, m * 224, (n + 1) / 2, min(n, 4)), float32]",
        "Tensor[(a - (b - c), a * (b + c), a % 2 + max(a, b - 1)), float32]", "_"}) {
    Result<Type> type = parse_type(text, nullptr, TypeForm::Relay);
    ASSERT_TRUE(type) << render(type.errors());
    EXPECT_EQ(type_text(*type), text);
  }
}

TEST(Text, short_types) {
  auto shown = [](const char* text) {
    Result<Type> type = parse_type(text);
    return type ? type_text(*type) : render(type.errors());
  };
  EXPECT_EQ(shown("(1, 3, 8, 8)"), "Tensor[(1, 3, 8, 8), float32]");
  EXPECT_EQ(shown("(4,) int64"), "Tensor[(4), int64]");
  EXPECT_EQ(shown("(4) int64"), "Tensor[(4), int64]");
  EXPECT_EQ(shown("()"), "float32");
  EXPECT_EQ(shown("() bool"), "bool");
  EXPECT_EQ(shown("(n, 3, h, w) uint8"), "Tensor[(n, 3, h, w), uint8]");
  EXPECT_EQ(shown("((n + 1) / 2, 3)"), "Tensor[((n + 1) / 2, 3), float32]");
  EXPECT_EQ(shown("[(1, 2), (1, 3) int8]"), "(Tensor[(1, 2), float32], Tensor[(1, 3), int8])");
  EXPECT_EQ(shown("Tensor[(1, 2), float16]"), "Tensor[(1, 2), float16]");
  EXPECT_EQ(shown("(int32, float32)"), "(int32, float32)");
  DimNames names;
  Type a = *parse_type("(n, 3)", &names), b = *parse_type("(n, 4)", &names);
  EXPECT_EQ(as<TensorType>(a)->shape[0], as<TensorType>(b)->shape[0]);
}

TEST(Text, attributes) {
  Result<std::vector<std::pair<std::string, AttrValue>>> attrs = parse_attrs(
      "a=1, b=[1, -2], c=\"x\", d=0.5f, e=True, f=None, g=[[0, 1], [2, 3]], h=[n, -1], i=float32, j=[1, 2.5f], k=(3, "
      "4), l=(5)");
  ASSERT_TRUE(attrs) << render(attrs.errors());
  std::string shown;
  for (const auto& [name, value] : *attrs) shown += name + "=" + ir::str(value) + " ";
  EXPECT_EQ(shown,
            "a=1 b=[1, -2] c=\"x\" d=0.5f e=True f=None g=[[0, 1], [2, 3]] h=[n, -1] i=\"float32\" j=[1f, 2.5f] k=[3, "
            "4] l=5 ");
}

TEST(Text, literals) {
  for (const char* text : {"1",
                           "-1",
                           "3000000000i64",
                           "7i8",
                           "200u8",
                           "18446744073709551615u64",
                           "1.5f",
                           "-0f",
                           "inff",
                           "-inff",
                           "nanf",
                           "0.1f",
                           "0.1f64",
                           "1e-05f",
                           "1e+30f",
                           "0.333f16",
                           "2bf16",
                           "True",
                           "False",
                           "-9223372036854775808i64"}) {
    Result<Expr> e = parse_expr(text);
    ASSERT_TRUE(e) << render(e.errors());
    EXPECT_EQ(str(*e), format("{}\n", std::string(text) == "0.333f16" ? "0.3330078f16" : text));
    EXPECT_TRUE(equal(*e, *parse_expr(str(*e))));
  }
}

// A number that rounds to the greatest value of a type becomes that; one that rounds to infinity is refused
// (testdata/errors).
TEST(Text, numbers_above_the_greatest_of_a_type) {
  for (auto [text, means] :
       {std::pair("65510f16", "65504f16"), {"-65519.99f16", "-65504f16"}, {"3.39e38bf16", "3.3895314e+38bf16"}}) {
    Result<Expr> e = parse_expr(text);
    ASSERT_TRUE(e) << render(e.errors());
    EXPECT_EQ(str(*e), format("{}\n", means));
  }
}

TEST(Text, signs_before_a_number) {
  for (auto [text, means] : {std::pair("--10", "10"), {"---10", "-10"}, {"- -1.5f", "1.5f"}}) {
    Result<Expr> e = parse_expr(text);
    ASSERT_TRUE(e) << render(e.errors());
    EXPECT_EQ(str(*e), format("{}\n", means));
  }
  EXPECT_FALSE(parse_expr("--%x"));
}

TEST(Text, a_function_type_in_parentheses_is_no_tuple) {
  for (auto [text, means] : {std::pair("(fn (int32) -> bool)", "fn (int32) -> bool"),
                             {"(fn (int32) -> bool,)", "(fn (int32) -> bool,)"},
                             {"(int32)", "(int32,)"},
                             {"(int, float)", "(int32, float32)"}}) {
    Result<Type> t = parse_type(text, nullptr, TypeForm::Relay);
    ASSERT_TRUE(t) << render(t.errors());
    EXPECT_EQ(type_text(*t), means);
  }
}

TEST(Text, names_that_are_no_identifiers) {
  VarRef x = var("input.1", tensor_type({2}, DType::float32())), y = var("input.1", tensor_type({2}, DType::float32())),
         z = var("0", {});
  Module m;
  m.functions["main"] = function({x, y, z}, tuple({x, y, z}));
  std::string text = str(m);
  EXPECT_NE(text.find("%\"input.1\": Tensor[(2), float32], %\"input.11\""), std::string::npos) << text;
  EXPECT_TRUE(equal(m, parsed(text)));
}

TEST(Text, constants) {
  std::vector<double> numbers = {1, -0.0, 0.1f, 1e30, 5, 6};
  Tensor small = Tensor::from_doubles({2, 3}, DType::float32(), numbers);
  Tensor special = Tensor::full({3}, DType::float32(), HUGE_VAL), large = Tensor::full({10, 10}, DType::int16(), 7);
  Tensor empty = Tensor::empty({0, 4}, DType::float32());
  Expr shared = constant(small);
  Module m;
  m.functions["main"] = function({}, tuple({shared, constant(special), constant(large), shared, constant(empty)}), {},
                                 {}, {{"Compiler", std::string("x\"y")}});
  m.attrs["mod_name"] = std::string("net");
  std::string text = str(m);
  EXPECT_TRUE(equal(m, parsed(text))) << text;
  EXPECT_EQ(str(parsed(text)), text);
  fs::path path = fs::temp_directory_path() / format("relay_text_test_{}.relay", static_cast<const void*>(&m));
  for (bool inlined : {true, false}) {
    ASSERT_TRUE(save(m, path.string(), inlined));
    Result<Module> loaded = load(path.string());
    ASSERT_TRUE(loaded) << render(loaded.errors());
    EXPECT_TRUE(equal(m, *loaded)) << inlined;
  }
  EXPECT_FALSE(parse(read(path)));  // without its weights file
  fs::remove(path);
  fs::remove(path.replace_extension(".safetensors"));
}

TEST(Text, devices_of_parameters) {
  const std::string head = "#[version = \"0.0.5\"]\n";
  auto program = [&](const std::string& x, const std::string& y) {
    return head + format("def @main(%x{}: float32, %y{}: float32) {{\n  add(%x, %y)\n}}\n", x, y);
  };
  const std::string first = program(" {virtual_device=\"cpu:1\"}", ""),
                    second = program("", " {virtual_device=\"cpu:1\"}");
  const ir::Module module = parsed(first);
  EXPECT_EQ(str(module), first);
  EXPECT_FALSE(ir::equal(module, parsed(second)));
  EXPECT_FALSE(ir::equal(module, parsed(program("", ""))));
  // The metadata section names them, as a list of names or as the nodes that TVM wrote.
  const std::string by_number = program(" {virtual_device=meta[VirtualDevice][1]}", "") + "#[metadata]\n";
  EXPECT_TRUE(ir::equal(module, parsed(by_number + "{\"VirtualDevice\": [\"cpu\", \"cpu:1\"]}")));
  const std::string nodes =
      "{\"root\": 1, \"nodes\": [{\"type_key\": \"\"}, {\"type_key\": \"Map\", \"keys\": [\"VirtualDevice\"], "
      "\"data\": [2]}, "
      "{\"type_key\": \"Array\", \"data\": [3, 4]}, {\"type_key\": \"VirtualDevice\", \"attrs\": {}}, {\"type_key\": "
      "\"VirtualDevice\", \"attrs\": {\"device_type_int\": \"1\", \"virtual_device_id\": \"1\"}}]}";
  EXPECT_TRUE(ir::equal(module, parsed(by_number + nodes)));
  for (const char* wrong : {" {virtual_device=3}", " {place=\"cpu\"}", " {virtual_device=meta[VirtualDevice][0]}",
                            " {virtual_device=meta[relay.Constant][0]}", " {virtual_device=\"cpu\""})
    EXPECT_FALSE(parse(program(wrong, ""))) << wrong;
}

TEST(Text, sharing_across_blocks) {
  // A node used by both branches belongs to the enclosing block; a node used by only one branch belongs to that branch.
  VarRef c = var("c", scalar_type(DType::boolean())), x = var("x", scalar_type(DType::float32()));
  Expr both = tuple({x, x}), inner = tuple({both, x});
  Expr e = if_(c, tuple({inner, inner, both}), tuple({both}));
  Module m;
  m.functions["main"] = function({c, x}, tuple({e, e}));
  std::string text = str(m);
  EXPECT_TRUE(equal(m, parsed(text))) << text;
  EXPECT_EQ(str(parsed(text)), text);
}

constexpr int deep = 1000000;

TEST(Text, a_chain_of_a_million_calls) {
  VarRef x = var("x", tensor_type({4}, DType::float32()));
  Expr e = x;
  for (int i = 0; i < deep; ++i) e = tuple({e, x});
  Module m;
  m.functions["main"] = function({x}, e);
  std::string text = str(m);
  Module again = parsed(text);
  EXPECT_TRUE(equal(m, again));
  EXPECT_TRUE(str(again) == text);
}

TEST(Text, nested_a_million_deep) {
  std::string text;
  for (int i = 0; i < deep; ++i) text += "(";
  text += "1f";
  for (int i = 0; i < deep; ++i) text += ",)";
  Result<Expr> e = parse_expr(text);
  ASSERT_TRUE(e) << render(e.errors());
  EXPECT_TRUE(equal(*e, *parse_expr(str(*e))));
}

TEST(Text, lets_branches_and_functions_a_hundred_thousand_deep) {
  VarRef x = var("x", scalar_type(DType::boolean()));
  Expr lets = x, branches = x, functions = x;
  for (int i = 0; i < deep / 10; ++i) {
    lets = let(var("y"), tuple({x}), lets);
    branches = if_(x, branches, x);
    functions = function({}, functions);
  }
  for (const Expr& e : {lets, branches, functions}) {
    Module m;
    m.functions["main"] = function({x}, e);
    std::string text = str(m);
    Module again = parsed(text);
    EXPECT_TRUE(equal(m, again));
    EXPECT_TRUE(str(again) == text);
  }
}

TEST(Text, types_nested_too_deep_are_refused) {
  std::string text = "fn (%x: " + std::string(100000, '(') + ") { %x }";
  Result<Expr> e = parse_expr(text);
  ASSERT_FALSE(e);
  EXPECT_EQ(e.errors()[0].kind, DiagnosticKind::nesting_too_deep);
}

}  // namespace
}  // namespace relay::text
