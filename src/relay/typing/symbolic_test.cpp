// Tests of shapes with named sizes: the results of operators, and where `?` stays unknown.
#include <gtest/gtest.h>

#include <algorithm>

#include "relay/op/conditions.h"
#include "relay/text/text.h"
#include "relay/typing/typing.h"

namespace relay::typing {
namespace {

struct Case {
  const char* params;  // of the function
  const char* body;
  const char* type;  // of its result
};

// The parameters' types come first in the text, so that the result's type refers to their names.
void check(const Case& c) {
  std::string text = format("#[version = \"0.0.5\"]\ndef @main({}) {{ {} }}\n", c.params, c.body);
  Result<ir::Module> module = text::parse(text);
  ASSERT_TRUE(module) << render(module.errors());
  Result<ir::Module> typed = infer(*module);
  ASSERT_TRUE(typed) << render(typed.errors());
  std::string printed = text::str(*typed);
  size_t arrow = printed.find(") -> ");
  ASSERT_NE(arrow, std::string::npos) << printed;
  size_t end = printed.find(" {\n", arrow);
  EXPECT_EQ(printed.substr(arrow + 5, end - arrow - 5), c.type) << c.body;
}

TEST(Symbolic, operators) {
  const Case cases[] = {
      {"%x: Tensor[(m, 3, 4), float32]", "nn.batch_flatten(%x)", "Tensor[(m, 12), float32]"},
      {"%x: Tensor[(m, n, 4), float32]", "nn.batch_flatten(%x)", "Tensor[(m, n * 4), float32]"},
      {"%x: Tensor[(m, 4), float32]", "reshape(%x, newshape=[-1])", "Tensor[(m * 4), float32]"},
      {"%x: Tensor[(m, 4), float32]", "reshape(%x, newshape=[0, 2, 2])", "Tensor[(m, 2, 2), float32]"},
      {"%x: Tensor[(m, 4), float32]", "reshape(%x, newshape=[2, -1])", "Tensor[(2, m * 2), float32]"},
      {"%x: Tensor[(n * s, 6), float32]", "reshape(%x, newshape=[-1, s, 2])", "Tensor[(n * 3, s, 2), float32]"},
      {"%x: Tensor[(m, n), float32]", "reshape(%x, newshape=[n, m])", "Tensor[(n, m), float32]"},
      {"%x: Tensor[(m, 2, n), float32]", "reshape(%x, newshape=[-3, 0])", "Tensor[(m * 2, n), float32]"},
      {"%x: Tensor[(n, 2), float32], %y: Tensor[(m, 2), float32]", "concatenate((%x, %y), axis=0)",
       "Tensor[(m + n, 2), float32]"},
      {"%x: Tensor[(n, 2), float32]", "concatenate((%x, %x, %x), axis=0)", "Tensor[(n * 3, 2), float32]"},
      {"%x: Tensor[(2 * n), float32]", "split(%x, indices_or_sections=2).0", "Tensor[(n), float32]"},
      {"%x: Tensor[(n, 6), float32]", "split(%x, indices_or_sections=[2, 3], axis=1).1", "Tensor[(n, 1), float32]"},
      {"%x: Tensor[(n, 1), float32], %y: Tensor[(1, m), float32]", "add(%x, %y)", "Tensor[(n, m), float32]"},
      {"%x: Tensor[(n, m), float32], %y: Tensor[(m), float32]", "add(%x, %y)", "Tensor[(n, m), float32]"},
      {"%x: Tensor[(n + 1), float32], %y: Tensor[(1 + n), float32]", "add(%x, %y)", "Tensor[(n + 1), float32]"},
      {"%x: Tensor[(1, 3, h, w), float32], %k: Tensor[(8, 3, 3, 3), float32]", "nn.conv2d(%x, %k, padding=[1, 1])",
       "Tensor[(1, 8, h, w), float32]"},
      {"%x: Tensor[(1, 3, h, w), float32], %k: Tensor[(8, 3, 3, 3), float32]", "nn.conv2d(%x, %k)",
       "Tensor[(1, 8, h - 2, w - 2), float32]"},
      {"%x: Tensor[(b, 3, h, 224), float32], %k: Tensor[(8, 3, 3, 3), float32]",
       "nn.conv2d(%x, %k, strides=[2, 2], padding=[1, 1])", "Tensor[(b, 8, (h + 1) / 2, 112), float32]"},
      {"%x: Tensor[(b, c, h, w), float32], %k: Tensor[(o, c, 1, 1), float32]", "nn.conv2d(%x, %k)",
       "Tensor[(b, o, h, w), float32]"},
      {"%x: Tensor[(b, c, 2 * h, w), float32]", "nn.max_pool2d(%x, pool_size=[2, 1], strides=[2, 1])",
       "Tensor[(b, c, h, w), float32]"},
      {"%x: Tensor[(b, c, h, w), float32]", "nn.upsampling(%x, scale_h=2f, scale_w=2f)",
       "Tensor[(b, c, h * 2, w * 2), float32]"},
      {"%x: Tensor[(b, k), float32], %w: Tensor[(u, k), float32]", "nn.dense(%x, %w)", "Tensor[(b, u), float32]"},
      {"%x: Tensor[(m, k), float32], %y: Tensor[(k, n), float32]", "nn.matmul(%x, %y)", "Tensor[(m, n), float32]"},
      {"%x: Tensor[(b, m, k), float32], %y: Tensor[(b, n, k), float32]", "nn.batch_matmul(%x, %y, transpose_b=True)",
       "Tensor[(b, m, n), float32]"},
      {"%x: Tensor[(m, n), float32]", "transpose(%x)", "Tensor[(n, m), float32]"},
      {"%x: Tensor[(m, n), float32]", "sum(%x, axis=[0], keepdims=True)", "Tensor[(1, n), float32]"},
      {"%x: Tensor[(m, n), float32]", "expand_dims(%x, axis=1)", "Tensor[(m, 1, n), float32]"},
      {"%x: Tensor[(m, n), float32]", "tile(%x, reps=[2, 1])", "Tensor[(m * 2, n), float32]"},
      {"%x: Tensor[(m, n), float32]", "nn.pad(%x, 0f, pad_width=[[1, 2], [0, 0]])", "Tensor[(m + 3, n), float32]"},
      {"%x: Tensor[(m, n), float32]", "stack((%x, %x), axis=0)", "Tensor[(2, m, n), float32]"},
      {"%x: Tensor[(v, d), float32], %i: Tensor[(b, s), int32]", "take(%x, %i, axis=0)", "Tensor[(b, s, d), float32]"},
      {"%x: Tensor[(m, n), float32]", "nn.softmax(%x)", "Tensor[(m, n), float32]"},
      {"%x: Tensor[(n), float32]", "argmax(%x, axis=[0])", "int32"},
  };
  for (const Case& c : cases) check(c);
}

// Two names for sizes that an operator requires to be equal: they become one name, which every executor checks on
// entry, with a warning.
TEST(Symbolic, sizes_that_must_agree) {
  auto check_agreement = [](const std::string& params, const std::string& body, const std::string& head, size_t told) {
    Result<ir::Module> module =
        text::parse(format("#[version = \"0.0.5\"]\ndef @main({}) {{\n  {}\n}}\n", params, body));
    ASSERT_TRUE(module) << render(module.errors());
    Diagnostics warnings;
    Result<ir::Module> typed = infer(*module, &warnings);
    ASSERT_TRUE(typed) << render(typed.errors());
    std::string printed = text::str(*typed);
    EXPECT_EQ(printed.substr(printed.find("def"), head.size()), head);
    EXPECT_EQ(warnings.size(), told) << render(warnings);
    for (const Diagnostic& d : warnings) EXPECT_TRUE(d.kind == DiagnosticKind::constraint && d.span && !d.help.empty());
  };
  check_agreement("%x: Tensor[(n), float32], %y: Tensor[(m), float32]", "add(%x, %y)",
                  "def @main(%x: Tensor[(n), float32], %y: Tensor[(n), float32]) -> Tensor[(n), float32] {", 1);
  check_agreement("%x: Tensor[(b, k), float32], %w: Tensor[(u, j), float32]", "nn.dense(%x, %w)",
                  "def @main(%x: Tensor[(b, k), float32], %w: Tensor[(u, k), float32]) -> Tensor[(b, u), float32] {",
                  1);
  check_agreement("%x: Tensor[(n, 2), float32], %y: Tensor[(m), float32]", "add(reshape(%x, newshape=[-1]), %y)",
                  "def @main(%x: Tensor[(n, 2), float32], %y: Tensor[(n * 2), float32]) -> Tensor[(n * 2), float32] {",
                  1);
  check_agreement("%x: Tensor[(a), float32], %y: Tensor[(b), float32], %z: Tensor[(c), float32]",
                  "let %s: Tensor[(a), float32] = add(%x, %y); add(%s, reshape(%z, newshape=[c]))",
                  "def @main(%x: Tensor[(a), float32], %y: Tensor[(a), float32], %z: Tensor[(a), float32]) -> ", 2);
  // Annotations inside of the function have names of sizes that other operators find to be a number, before or after.
  const std::string inner =
      "let %f = fn (%s: Tensor[(m), float32]) -> Tensor[(m), float32] {{ tanh(%s) }}; ({}, %f(add(%x, %w)), {})";
  const std::string number = "add(%w, ones(shape=[4], dtype=\"float32\"))";
  for (bool is_first : {true, false})
    check_agreement("%x: Tensor[(m), float32], %w: Tensor[(n), float32]",
                    format(fmt::runtime(inner), is_first ? number : "%w", is_first ? "%w" : number),
                    "def @main(%x: Tensor[(4), float32], %w: Tensor[(4), float32]) -> ", 2);
  // Callers of such a function must agree too.
  Result<ir::Module> module = text::parse(R"(#[version = "0.0.5"]
def @inner(%x: Tensor[(n), float32], %y: Tensor[(m), float32]) -> Tensor[(n), float32] { add(%x, %y) }
def @main(%x: Tensor[(3), float32], %y: Tensor[(4), float32]) { @inner(%x, %y) }
)");
  Result<ir::Module> typed = infer(*module);
  ASSERT_FALSE(typed);
  EXPECT_EQ(typed.errors()[0].kind, DiagnosticKind::type_mismatch);
  // A size that meets a number becomes that number, even if 1 could be broadcast.
  check_agreement("%x: Tensor[(n), float32]", "add(%x, ones(shape=[4], dtype=\"float32\"))",
                  "def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {", 1);
  check_agreement("%x: Tensor[(b, k), float32], %w: Tensor[(8, 4), float32]", "nn.dense(%x, %w)",
                  "def @main(%x: Tensor[(b, 4), float32], %w: Tensor[(8, 4), float32]) -> Tensor[(b, 8), float32] {",
                  1);
}

// The remaining conditions, few and simple, in terms of the parameters' sizes.
TEST(Symbolic, conditions) {
  struct Needs {
    const char *params, *body, *conditions;
  };
  std::string chain = "%x";
  for (int i = 0; i < 200; ++i) chain = format("nn.max_pool2d({}, pool_size=[3, 1])", chain);
  const Needs cases[] = {
      {"%x: Tensor[(1, 3, h, 8), float32]", "nn.max_pool2d(%x, pool_size=[7, 7], padding=[1, 1])", "h >= 5"},
      {"%x: Tensor[(1, 3, h, w), float32]", "nn.max_pool2d(%x, pool_size=[2, 3], strides=[2, 2])", "h >= 2; w >= 3"},
      {"%x: Tensor[(1, 3, h, 8), float32]", "nn.avg_pool2d(%x, pool_size=[3, 1], strides=[2, 1], ceil_mode=True)",
       "h >= 2"},
      {"%x: Tensor[(n), float32]", "split(%x, indices_or_sections=3).1", "n % 3 == 0"},
      {"%x: Tensor[(n), float32]", "split(%x, indices_or_sections=[2, 5]).1", "n >= 5"},
      {"%x: Tensor[(n), float32]", "reshape(%x, newshape=[-1, 4])", "n % 4 == 0"},
      {"%x: Tensor[(n), float32]", "argmax(%x, axis=[0])", "n <= 2147483647; n >= 1"},
      {"%x: Tensor[(n), float32]", "topk(%x, k=3, ret_type=\"values\")", "n >= 3"},
      {"%x: Tensor[(n, 3), float32], %y: Tensor[(2 * m), float32]", "reshape(%x, newshape=[2 * m])", "n * 3 == m * 2"},
      {"%x: Tensor[(1, 1, h, 8), float32]",
       "add(%x, nn.upsampling(nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2]), scale_h=2f, scale_w=2f))",
       "h % 2 == 0; h >= 2"},
      {"%c: bool, %x: Tensor[(n), float32]",
       "if (%c) { split(%x, indices_or_sections=3).1 } else { zeros(shape=[n / 3]) }", ""},
      {"%x: Tensor[(1, 3, h, 8), float32]", chain.c_str(), "h >= 401"},
      {"%x: Tensor[(n), float32], %y: Tensor[(m), float32]", "broadcast_to(sum(%x), shape=[m - n, n / 2])",
       "m - n >= 0"},
  };
  for (const Needs& c : cases) {
    Result<ir::Module> module =
        text::parse(format("#[version = \"0.0.5\"]\ndef @main({}) {{ {} }}\n", c.params, c.body));
    ASSERT_TRUE(module) << render(module.errors());
    Result<ir::Module> typed = infer(*module);
    ASSERT_TRUE(typed) << render(typed.errors());
    std::vector<std::string> found;
    for (const op::Condition& needed : op::conditions_of(typed->functions.at("main")->body))
      found.push_back(needed.str());
    std::sort(found.begin(), found.end());
    EXPECT_EQ(format("{}", join(found, "; ")), c.conditions) << c.body;
  }
}

// Issues reported against other compilers: unknown channels in groups; indices whose type depends on the form of a
// shape.
TEST(Symbolic, unknown_sizes) {
  const Case cases[] = {
      {"%x: Tensor[(?, ?, ?, ?), float32], %w: Tensor[(16, 16, 3, 3), float32]",
       "nn.conv2d(%x, %w, kernel_size=[3, 3], channels=16, groups=2)", "Tensor[(?, 16, ?, ?), float32]"},
      {"%x: Tensor[(2, 1), float64]", "let %b = broadcast_to(%x, shape=[2i64, 1i64]); (%b, argmax(%b, axis=[0]))",
       "(Tensor[(2, 1), float64], Tensor[(1), int32])"},
      {"%x: Tensor[(?), float32], %y: Tensor[(n), float32]", "add(%x, %y)", "Tensor[(?), float32]"},
      {"%x: Tensor[(?, 2), float32], %y: Tensor[(n, 2), float32]", "concatenate((%x, %y), axis=0)",
       "Tensor[(?, 2), float32]"},
      {"%c: bool, %x: Tensor[(?), float32], %y: Tensor[(n), float32]", "if (%c) { %x } else { %y }",
       "Tensor[(?), float32]"},
      {"%c: bool, %x: Tensor[(3), float32], %y: Tensor[(?), float32]", "if (%c) { %x } else { %y }",
       "Tensor[(?), float32]"},
      {"%x: Tensor[(?, 4), float32]", "reshape(%x, newshape=[-1])", "Tensor[(?), float32]"},
      {"%x: Tensor[(?, 4), float32]", "fn (%y: Tensor[(n, 4), float32]) { (%y, %y) }(%x).0", "Tensor[(?, 4), float32]"},
  };
  for (const Case& c : cases) check(c);
}

}  // namespace
}  // namespace relay::typing
