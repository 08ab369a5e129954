// Gradients against finite differences in double precision: of every operator that has one, on its examples (op/op.h),
// and of programs with control flow, closures, data types and references. One test an operator; a failure names the
// example and the input.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "relay/eval/eval.h"
#include "relay/eval/examples.h"
#include "relay/text/text.h"
#include "relay/transform/pass.h"
#include "relay/transform/reverse_mode.h"
#include "relay/typing/typing.h"

namespace relay::transform {
namespace {

using eval::Value;
using eval::Values;

constexpr eval::EvalOptions precise{.float64 = true};

Tensor in_double(const Tensor& t, const std::function<double(int64_t)>& value) {
  Tensor out = Tensor::empty(t.shape(), DType::float64());
  for (int64_t i = 0; i < t.elements(); ++i) out.set(i, value(i));
  return out;
}
Tensor drawn_like(const Tensor& t, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> of(-1, 1);
  return in_double(t, [&](int64_t) { return of(random); });
}
Tensor moved(const Tensor& t, const Tensor& along, double by) {
  return in_double(t, [&](int64_t i) { return t.at(i) + by * along.at(i); });
}

// The tensors of a value, flat.
std::vector<Value> flat(const Value& v) {
  const eval::TupleValue* t = eval::as_tuple(v);
  if (!t) return {v};
  std::vector<Value> out;
  for (const Value& field : t->fields)
    for (const Value& inner : flat(field)) out.push_back(inner);
  return out;
}
// A value of the same structure: f(tensor, its number) for floats, zeros for others.
Value like(const Value& v, uint64_t* seed) {
  if (const eval::TupleValue* t = eval::as_tuple(v)) {
    Values fields;
    for (const Value& field : t->fields) fields.push_back(like(field, seed));
    return eval::tuple_value(std::move(fields));
  }
  if (!v.dtype.is_float()) return Value(Tensor::full(v.tensor.shape(), v.dtype, 0));
  return Value(drawn_like(v.tensor, ++*seed), v.dtype);
}
double product(const Value& a, const Value& b) {
  const std::vector<Value> x = flat(a), y = flat(b);
  double sum = 0;
  for (size_t k = 0; k < x.size(); ++k)
    for (int64_t i = 0; x[k].dtype.is_float() && i < x[k].tensor.elements(); ++i)
      sum += x[k].tensor.at(i) * y[k].tensor.at(i);
  return sum;
}

Value evaluated(const ir::Module& module, const Values& args) {
  Result<Value> v = eval::run(module, "main", args, precise);
  EXPECT_TRUE(v) << (v ? "" : render(v.errors()));
  return v ? *v : Value();
}

// For each float argument a random direction: the derivative along it from the gradient and from two values.
// Only of the first `count` arguments.
void check(const ir::Module& plain, const ir::Module& gradient, const Values& args, size_t count = SIZE_MAX) {
  uint64_t draw = 7;
  const Value result = evaluated(plain, args), seed = like(result, &draw);
  Values with_seed = args;
  with_seed.push_back(seed);
  const Value both = evaluated(gradient, with_seed);
  ASSERT_TRUE(eval::as_tuple(both));
  // A mean multiplies by a reciprocal that is rounded to float32 in some operators, and divides in their definitions.
  EXPECT_NEAR(product(eval::as_tuple(both)->fields[0], seed), product(result, seed),
              1e-7 * (1 + std::abs(product(result, seed))));
  const Values gradients = eval::as_tuple(eval::as_tuple(both)->fields[1])->fields;
  ASSERT_EQ(gradients.size(), args.size());
  for (size_t i = 0; i < std::min(count, args.size()); ++i) {
    if (!args[i].tensor || !args[i].dtype.is_float()) continue;
    SCOPED_TRACE(format("argument {}", i));
    ASSERT_EQ(gradients[i].tensor.shape(), args[i].tensor.shape());
    const Tensor direction = drawn_like(args[i].tensor, ++draw);
    constexpr double step = 1e-6;
    Values ahead = args, behind = args;
    ahead[i] = Value(moved(args[i].tensor, direction, step), args[i].dtype);
    behind[i] = Value(moved(args[i].tensor, direction, -step), args[i].dtype);
    const double numeric =
        (product(evaluated(plain, ahead), seed) - product(evaluated(plain, behind), seed)) / (2 * step);
    // A value is exact to 1e-16 of its size, so that a difference is to 1e-10 of it.
    const double size = std::abs(product(result, result)) + std::abs(product(seed, seed));
    EXPECT_NEAR(product(gradients[i], Value(direction, args[i].dtype)), numeric,
                2e-5 * std::abs(numeric) + 1e-7 * (1 + size));
  }
}

Result<ir::Module> differentiated(const ir::Module& module) {
  PassContext context;
  context.verify = true;
  context.options["gradient.seed"] = int64_t{1};
  return run_passes(module, {"gradient"}, context);
}

bool is_differentiable(const op::OpDef* def) { return def->gradient || def->definition; }

std::vector<const op::OpDef*> with_gradients() {
  std::vector<const op::OpDef*> out;
  std::copy_if(op::all().begin(), op::all().end(), std::back_inserter(out), is_differentiable);
  return out;
}

// Forms of operators that have no gradient: by name and number of the example.
const std::set<std::string> refused = {
    "einsum/3",            // diagonals
    "einsum/4",            //
    "nn.conv2d/7",         // a weight for each group alone
    "scatter_elements/2",  // products, least, greatest, means of updates
    "scatter_elements/3",  //
    "scatter_elements/4",  //
    "scatter_elements/5",  //
    "scatter_nd/2",        //
    "scatter_nd/3",        //
    "scatter_nd/4",        //
    "vision.roi_align/2",  // the greatest sample
};
// Inputs of floats that an operator takes for data without a gradient: by name, the number of the first one.
const std::map<std::string, size_t> given = {{"vision.roi_align", 1}};

class OpGradients : public testing::TestWithParam<const op::OpDef*> {};

TEST_P(OpGradients, AreThoseOfFiniteDifferences) {
  const op::OpDef& def = *GetParam();
  for (size_t i = 0; i < def.examples.size(); ++i) {
    if (def.examples[i].bench) continue;
    Result<eval::ExampleCase> c = eval::example_case(def, i);
    ASSERT_TRUE(c) << render(c.errors());
    if (std::none_of(c->inputs.begin(), c->inputs.end(), has_floats) || !has_floats(c->output)) continue;
    SCOPED_TRACE(c->name + " " + def.examples[i].attrs);
    ir::Module plain;
    plain.functions["main"] = eval::function(*c);
    Result<ir::Module> gradient = differentiated(plain);
    if (refused.count(c->name)) {
      EXPECT_FALSE(gradient) << "it has a gradient now: take it off the list";
      continue;
    }
    ASSERT_TRUE(gradient) << render(gradient.errors());
    Values args;
    for (const Tensor& t : eval::example_inputs(*c))
      args.push_back(t.dtype().is_float() ? Value(in_double(t, [&](int64_t k) { return t.at(k); }), t.dtype())
                                          : Value(t));
    Result<ir::Module> typed = typing::infer(plain);
    ASSERT_TRUE(typed) << render(typed.errors());
    check(*typed, *gradient, args, given.count(def.name) ? given.at(def.name) : SIZE_MAX);
  }
}

INSTANTIATE_TEST_SUITE_P(All, OpGradients, testing::ValuesIn(with_gradients()),
                         [](const testing::TestParamInfo<const op::OpDef*>& info) {
                           std::string name = info.param->name;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

// A program of numbers.
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

// The gradient of the sum of the gradients, and of that once more.
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
            "parameter %f is a function, whose gradient nobody knows");
  EXPECT_EQ(said("def @main(%x: Tensor[(4, 6), float32]) { dft(%x, %x) }"), "dft cannot be differentiated");
}

}  // namespace
}  // namespace relay::transform
