// Tests of gradients against finite differences in double precision, for programs with control flow, closures, data
// types and references. test/ops has those of every operator.
#include <gtest/gtest.h>

#include "relay/text/text.h"
#include "relay/transform/gradient/test_gradients.h"
#include "relay/typing/typing.h"

namespace relay::transform {
namespace {

void check(const ir::Module& plain, const ir::Module& gradient, const Values& args) {
  EXPECT_EQ(gradient_problem(plain, gradient, args), "");
}

// Checks a program on numbers.
void check_program(const std::string& text, const std::vector<double>& numbers) {
  Result<ir::Module> module =
      text::parse(std::make_shared<const Source>(Source{"program", "#[version = \"0.0.5\"]\n" + text}));
  ASSERT_TRUE(module) << render(module.errors());
  Result<ir::Module> typed = typing::infer(*module);
  ASSERT_TRUE(typed) << render(typed.errors());
  Result<ir::Module> gradient = differentiated(*typed);
  ASSERT_TRUE(gradient) << render(gradient.errors());
  Values args;
  for (double x : numbers) args.push_back(Value(Tensor::scalar(x, DType::float64()), DType::float32()));
  check(*typed, *gradient, args);
}

TEST(Gradient, of_branches) {
  const char* text = "def @main(%x: float32, %y: float32) { if (less(%x, %y)) { multiply(%x, %y) } else { exp(%x) } }";
  check_program(text, {1, 2});
  check_program(text, {2, 1});
}

TEST(Gradient, of_recursion) {
  check_program(
      "def @power(%x: float32, %n: int32) -> float32 {\n"
      "  if (equal(%n, 0)) { 1f } else { multiply(%x, @power(%x, subtract(%n, 1))) } }\n"
      "def @main(%x: float32, %y: float32) { add(@power(%x, 5), @power(multiply(%x, %y), 3)) }",
      {0.7, 1.3});
}

TEST(Gradient, of_closures) {
  check_program(
      "def @twice(%f: fn (float32) -> float32, %x: float32) -> float32 { %f(%f(%x)) }\n"
      "def @main(%x: float32, %y: float32) {\n"
      "  let %g = fn (%z: float32) { multiply(sin(%z), %y) };\n"
      "  let %h = fn (%z: float32) { multiply(%g(%z), %x) };\n"
      "  add(@twice(%h, %x), %g(%y)) }",
      {0.7, 1.3});
}

TEST(Gradient, of_what_is_computed_again) {
  check_program(
      "def @main(%x: float32, %y: float32) {\n"
      "  let %a = tanh(%x);\n"
      "  let %b = annotation.checkpoint(multiply(sin(%a), exp(multiply(%x, %y))));\n"
      "  let %c = annotation.checkpoint(multiply(tanh(%b), add(%b, %y)));\n"
      "  multiply(tanh(%c), add(%a, %b)) }",
      {0.7, 1.3});
  // Through a tuple, for a parameter itself, and where the result does not depend on the parameters.
  check_program(
      "def @main(%x: float32, %y: float32) {\n"
      "  let %t = (exp(%x), %y);\n"
      "  let %b = annotation.checkpoint(multiply(%t.0, %t.1));\n"
      "  multiply(add(%b, annotation.checkpoint(%x)), annotation.checkpoint(exp(2f))) }",
      {0.7, 1.3});
  check_program(
      "def @loop(%x: float32, %n: int32) -> float32 {\n"
      "  if (less(%n, 1)) { %x } else { @loop(annotation.checkpoint(tanh(exp(%x))), subtract(%n, 1)) } }\n"
      "def @main(%x: float32) { @loop(%x, 3) }",
      {0.7});
}

TEST(Gradient, of_a_fold_over_a_list) {
  check_program(
      "import \"list\"\n"
      "def @main(%x: float32, %y: float32) {\n"
      "  let %l = Cons(%x, Cons(%y, Cons(multiply(%x, %y), Nil)));\n"
      "  @foldl(fn (%a: float32, %b: float32) { tanh(add(multiply(%a, %x), %b)) }, %y, @map(fn (%e: float32) { "
      "exp(%e) }, %l)) }",
      {0.3, -0.4});
}

TEST(Gradient, of_a_data_type_with_floats_in_it) {
  check_program(
      "type Tree { Leaf(float32), Node(Tree, int32, Tree) }\n"
      "def @total(%t: Tree, %w: float32) -> float32 {\n"
      "  match (%t) { Leaf(%v) => multiply(%v, %w), Node(%l, _, %r) => tanh(add(@total(%l, %w), @total(%r, %w))) } }\n"
      "def @main(%x: float32, %w: float32) { @total(Node(Node(Leaf(%x), 1, Leaf(%w)), 2, Leaf(0.5f)), %w) }",
      {0.3, -0.4});
}

TEST(Gradient, of_references) {
  check_program(
      "def @main(%x: float32, %y: float32) {\n"
      "  let %r = ref(%x);\n"
      "  ref_write(%r, multiply(ref_read(%r), %y));\n"
      "  let %f = fn () { ref_write(%r, sin(ref_read(%r))) };\n"
      "  %f(); %f();\n"
      "  add(ref_read(%r), %x) }",
      {0.7, 1.3});
}

TEST(Gradient, of_tuples_and_several_results) {
  check_program(
      "def @main(%x: float32, %y: float32) {\n"
      "  let %t = (%x, (%y, 3)); let %u = (multiply(%t.0, %t.1.0), %t);\n"
      "  (exp(%u.0), %u.1.0, %u.1.1.1, less(%x, %y)) }",
      {0.7, 1.3});
}

// The gradient of the sum of the gradients, and the gradient of that.
TEST(Gradient, of_gradients) {
  for (const char* text : {"def @main(%x: float32, %y: float32) { multiply(tanh(multiply(%x, %y)), exp(%x)) }",
                           "def @cube(%x: float32, %n: int32) -> float32 { if (equal(%n, 0)) { 1f } else { "
                           "multiply(%x, @cube(%x, subtract(%n, 1))) } }\n"
                           "def @main(%x: float32, %y: float32) { multiply(@cube(%x, 4), sin(%y)) }"}) {
    Result<ir::Module> module =
        text::parse(std::make_shared<const Source>(Source{"program", std::string("#[version = \"0.0.5\"]\n") + text}));
    ASSERT_TRUE(module) << render(module.errors());
    PassContext context;
    context.verify = true;
    Result<ir::Module> first = run_passes(*module, {"gradient"}, context);
    ASSERT_TRUE(first) << render(first.errors());
    Result<ir::Module> second = differentiated(*first);
    ASSERT_TRUE(second) << render(second.errors());
    Values args;
    for (double x : {0.4, 0.9}) args.push_back(Value(Tensor::scalar(x, DType::float64()), DType::float32()));
    check(*first, *second, args);
  }
}

TEST(Gradient, names_what_cannot_be_differentiated) {
  auto said = [](const std::string& text) {
    Result<ir::Module> module =
        text::parse(std::make_shared<const Source>(Source{"program", "#[version = \"0.0.5\"]\n" + text}));
    RELAY_CHECK(module, "{}", render(module.errors()));
    Result<ir::Module> gradient = differentiated(*module);
    return gradient ? std::string() : gradient.errors()[0].message;
  };
  EXPECT_EQ(said("def @main(%x: float32, %n: int32) { %n }"), "the result is a int32, which has no gradient");
  EXPECT_EQ(said("def @main(%f: fn (float32) -> float32, %x: float32) { %f(%x) }"),
            "parameter %f is a function, whose gradient is unknown");
  EXPECT_EQ(said("def @main(%x: Tensor[(4), float32]) { unique(%x) }"), "unique cannot be differentiated");
}

}  // namespace
}  // namespace relay::transform
