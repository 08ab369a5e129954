// Finding the cause of a wrong result: planted faults are named.
#include "relay/driver/verify.h"

#include <gtest/gtest.h>

#include "relay/driver/targets.h"
#include "relay/driver/test_networks.h"
#include "relay/frontend/onnx/test_model.h"
#include "relay/lower/nest/nest.h"

namespace relay::driver {
namespace {

const Network* network(const std::string& name) {
  for (const Network& n : networks)
    if (n.name == name) return &n;
  return nullptr;
}

Case case_of(const Network& n) {
  Result<Case> c = make_case(module_of(n), {runtime::Value::tensor(values(n.input, 37))}, 1e-4);
  RELAY_CHECK(c, "{}", render(c.errors()));
  return *c;
}

Options native() {
  Options options;
  options.lower.target = *find_target("native");
  return options;
}

TEST(Verify, EveryNetworkIsRight) {
  for (const Network& n : networks) {
    const Case c = case_of(n);
    Result<Differences> all = compiled_differences(c, native());
    ASSERT_TRUE(all) << render(all.errors());
    EXPECT_TRUE(within(*all, c.tolerance)) << n.name << ": " << (*all)[0].relative;
    EXPECT_LT((*all)[0].absolute, 1e-3) << n.name;
  }
}

TEST(Verify, DifferencesAreCounted) {
  const Tensor a = values({3, 4}, 37);
  Tensor b = values({3, 4}, 37);
  float* changed = static_cast<float*>(b.mutable_data());
  changed[5] += 1, changed[7] = NAN;
  const Differences all = compare(runtime::Value::tensor(b), runtime::Value::tensor(a), 1e-4);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].elements, 2);
  EXPECT_EQ(all[0].absolute, std::numeric_limits<double>::infinity());  // of the NaN
  EXPECT_FALSE(within(all, 1));
  EXPECT_TRUE(within(compare(runtime::Value::tensor(a), runtime::Value::tensor(a), 1e-4), 0));
  EXPECT_NE(
      compare(runtime::Value::tensor(values({4, 3}, 37)), runtime::Value::tensor(a), 1)[0].other.find("shape (4, 3)"),
      std::string::npos);
}

// Import computes nodes on constants. The reference of `relay verify` computes them from the file's numbers.
TEST(Verify, TheReferenceStartsFromTheFile) {
  onnx::test::TestGraph g;
  g.initializer(onnx::test::raw_tensor<float>("a", {2}, 1, {100, 2}));
  g.initializer(onnx::test::raw_tensor<float>("b", {2}, 1, {3, 4}));
  g.input("x", "2").node("Mul", {"a", "b"}, {"p"}).node("Add", {"x", "p"}, {"y"}).output("y");
  const onnx::test::TestFile file(g, 17);
  const std::vector<runtime::Value> inputs{runtime::Value::tensor(values({2}, 3))};
  std::vector<std::string> texts;
  std::vector<Tensor> results;
  for (const bool as_written : {false, true}) {
    Result<Model> model = load_model(file.path, {.import = {.as_written = as_written}});
    ASSERT_TRUE(model) << render(model.errors());
    texts.push_back(text::str(model->module));
    Result<Case> c = make_case(model->module, inputs, 1e-4);
    ASSERT_TRUE(c) << render(c.errors());
    results.push_back(c->reference.tensor());
  }
  EXPECT_EQ(texts[0].find("multiply("), std::string::npos) << texts[0];
  EXPECT_NE(texts[1].find("multiply("), std::string::npos) << texts[1];
  for (int64_t i = 0; i < 2; ++i) EXPECT_EQ(results[0].at(i), results[1].at(i));
}

TEST(Bisect, AWrongImportIsNamed) {
  onnx::test::TestGraph g;
  g.input("x", "2,5").output("y").node("Neg", {"x"}, {"n"});
  g.node("LeakyRelu", {"n"}, {"l"}, {onnx::test::real("alpha", 0.25F)}).node("Add", {"l", "x"}, {"y"});
  const onnx::test::TestFile file(g, 17);
  const std::vector<runtime::Value> inputs{runtime::Value::tensor(values({2, 5}, 37))};
  Result<Model> right = load_model(file.path, {.import = {.all_values = true}});
  ASSERT_TRUE(right) << render(right.errors());
  ASSERT_EQ(right->output_names, (std::vector<std::string>{"n", "l", "y"}));
  ValuesByName reference;
  Result<Case> c = make_case(right->module, inputs, 1e-4);
  ASSERT_TRUE(c) << render(c.errors());
  for (size_t i = 0; i < 3; ++i) reference[right->output_names[i]] = c->reference.field(i).tensor();
  Result<Blame> nothing = blame_import(*right, inputs, reference, 1e-4);
  ASSERT_TRUE(nothing) << render(nothing.errors());
  EXPECT_EQ(nothing->kind, Blame::Kind::Nothing);
  // A converter that ignores its attributes.
  Result<Model> wrong = load_model(file.path, {.import = {.all_values = true, .without_attributes = {"LeakyRelu"}}});
  ASSERT_TRUE(wrong) << render(wrong.errors());
  Result<Blame> found = blame_import(*wrong, inputs, reference, 1e-4);
  ASSERT_TRUE(found) << render(found.errors());
  EXPECT_EQ(found->kind, Blame::Kind::Import);
  EXPECT_EQ(found->name, "LeakyRelu that computes 'l'");
  EXPECT_EQ(found->differences[0].output, "l");
  EXPECT_FALSE(blame_import(*right, inputs, {}, 1e-4));
}

TEST(Bisect, NothingIsToBlame) {
  Result<Blame> blame = bisect(case_of(*network("silu")), native(), [](const std::string&) {});
  ASSERT_TRUE(blame) << render(blame.errors());
  EXPECT_EQ(blame->kind, Blame::Kind::Nothing);
}

TEST(Bisect, TheFirstWrongProgramIsFoundByHalves) {
  for (size_t wrong = 1; wrong < 20; ++wrong) {
    int asked = 0;
    Result<size_t> found = first_wrong(20, [&](size_t i) -> Result<bool> { return ++asked, i < wrong; });
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, wrong);
    EXPECT_LE(asked, 5);
  }
}

// A case whose reference is that of another program, as if a pass had changed it. The evaluator and the compiler then
// agree with each other, and no step is to blame.
TEST(Bisect, AWrongReferenceIsNotBlamedOnAPass) {
  Case c = case_of(*network("rows"));
  c.reference = runtime::Value::tensor(values({32, 300}, 31));
  std::vector<std::string> steps;
  Result<Blame> blame = bisect(c, native(), [&](const std::string& step) { steps.push_back(step); });
  ASSERT_TRUE(blame) << render(blame.errors());
  EXPECT_EQ(blame->kind, Blame::Kind::Compiler);
  EXPECT_NE(std::find(steps.begin(), steps.end(), "as written: different"), steps.end());
}

// A fault in the rings of rows, which only groups that slide have: without that algorithm the program is right.
TEST(Bisect, AFaultOfOneAlgorithmIsNamed) {
  if (std::ranges::none_of(lower::all_rules(), [](lower::Rule rule) { return lower::name(rule) == "sliding"; }))
    GTEST_SKIP() << "built without sliding";
  const Case c = case_of(*network("sliding"));
  Options options = native();
  options.lower.target = *find_target("native,-avx512f");
  options.lower.injected_bug = lower::Mutation::RingShort;
  Result<Blame> blame = bisect(c, options, [](const std::string&) {});
  ASSERT_TRUE(blame) << render(blame.errors());
  EXPECT_EQ(blame->kind, Blame::Kind::Rule);
  EXPECT_EQ(blame->name, "sliding");
  EXPECT_LE(count_calls(blame->smallest), 5u) << text::str(blame->smallest.module);
}

// A wrong rule of a pass: relu(x) becomes x.
Result<ir::Module> without_relu(const ir::Module& module, transform::PassContext& context) {
  return transform::for_each_function(module, [&](const ir::FunctionRef& f) {
    return ir::FunctionRef(ir::as<ir::Function>(ir::rewrite(f, [&](const ir::Expr& e) -> ir::Expr {
      const ir::Call* call = ir::as<ir::Call>(e);
      const ir::Op* op = call ? ir::as<ir::Op>(call->callee) : nullptr;
      if (!op || op->name != "nn.relu") return e;
      ++context.applied["nn.relu(x) becomes x"];
      return call->args[0];
    })));
  });
}

TEST(Bisect, AWrongRuleOfAPassIsNamedWithTheSmallestProgram) {
  std::string body = "%x";
  for (int i = 0; i < 40; ++i)
    body = format("nn.{}(add(nn.conv2d({}, %w0, padding=[1, 1], channels=8, kernel_size=[3, 3]), 0.1f))",
                  i == 20 ? "relu" : "leaky_relu", body);
  const Network deep{"deep", {1, 8, 6, 6}, {{8, 8, 3, 3}}, body.c_str()};
  Options options = native();
  options.passes.extra_passes = {{"without_relu", "nn.relu(x) becomes x", without_relu}};
  options.passes.opt_level = 0;  // its last pass makes a function of each call, including the relu
  Result<Blame> blame = bisect(case_of(deep), options, [](const std::string&) {});
  ASSERT_TRUE(blame) << render(blame.errors());
  EXPECT_EQ(blame->kind, Blame::Kind::Pass);
  EXPECT_EQ(blame->name, "without_relu");
  EXPECT_EQ(blame->rules, std::vector<std::string>{"nn.relu(x) becomes x"});
  EXPECT_EQ(count_calls(blame->smallest), 2u) << text::str(blame->smallest.module);
  EXPECT_TRUE(make_case(blame->smallest.module, blame->smallest.inputs, 1e-4));
}

}  // namespace
}  // namespace relay::driver
