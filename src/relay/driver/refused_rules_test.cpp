// Every schedule rule in turn is made to refuse: each program still compiles, computes the same, and says what it lost;
// in strict mode it is an error that says whose.
#include <gtest/gtest.h>

#include <cmath>

#include "relay/driver/compile.h"
#include "relay/driver/targets.h"
#include "relay/driver/values.h"
#include "relay/ir/rewrite.h"
#include "relay/text/text.h"
#include "relay/typing/typing.h"

namespace relay::driver {
namespace {

struct Case {
  const char* name;
  Shape input;
  std::vector<Shape> weights;  // constants
  const char* body;            // of %x and %w0, %w1
};

// Between them they use every rule.
const Case cases[] = {
    {"winograd",
     {1, 64, 16, 16},
     {{64, 64, 3, 3}},
     "nn.relu(nn.conv2d(%x, %w0, padding=[1, 1], channels=64, kernel_size=[3, 3]))"},
    {"strassen", {512, 1024}, {{1024, 1024}}, "nn.dense(%x, %w0)"},
    {"attention", {8, 512, 64}, {}, "nn.batch_matmul(nn.softmax(nn.batch_matmul(%x, %x, transpose_b=True)), %x)"},
    {"silu",
     {1, 64, 80, 80},
     {{64, 64, 1, 1}},
     "let %c = nn.conv2d(%x, %w0, channels=64, kernel_size=[1, 1]); multiply(%c, sigmoid(%c))"},
    {"sliding",
     {1, 16, 112, 112},
     {{96, 16, 1, 1}, {96, 1, 3, 3}, {24, 96, 1, 1}},
     "let %a = nn.relu(nn.conv2d(%x, %w0, channels=96, kernel_size=[1, 1])); let %b = nn.relu(nn.conv2d(%a, %w1, "
     "padding=[1, 1], channels=96, groups=96, kernel_size=[3, 3])); nn.conv2d(%b, %w2, channels=24, kernel_size=[1, "
     "1])"},
    {"rows", {32, 300}, {}, "nn.softmax(%x)"},
    {"inner product", {1, 2, 600}, {}, "nn.batch_matmul(%x, %x, transpose_b=True)"},
    {"pool", {1, 16, 28, 28}, {}, "nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2])"},
    {"row reduction", {20, 1000}, {}, "sum(%x, axis=[1])"},
    {"transposition", {100, 130}, {}, "transpose(exp(%x))"},
};

Tensor values(const Shape& shape, int64_t step) {
  Tensor t = Tensor::full(shape, DType::float32(), 0);
  float* v = static_cast<float*>(t.mutable_data());
  for (int64_t i = 0; i < t.elements(); ++i) v[i] = static_cast<float>(i * step % 113) / 64 - 0.9f;
  return t;
}

ir::Module module_of(const Case& c) {
  auto type = [](const Shape& shape) { return format("Tensor[({}), float32]", join(shape, ", ")); };
  std::string params = "%x: " + type(c.input);
  for (size_t i = 0; i < c.weights.size(); ++i) params += format(", %w{}: {}", i, type(c.weights[i]));
  Result<ir::Module> module = text::parse(format("#[version = \"0.0.5\"]\ndef @main({}) {{ {} }}\n", params, c.body));
  RELAY_CHECK(module, "{}", render(module.errors()));
  ir::FunctionRef& main = module->functions.at("main");
  ir::VarMap constants;
  for (size_t i = 0; i < c.weights.size(); ++i)
    constants[main->params[i + 1].get()] = ir::constant(values(c.weights[i], 31));
  main = ir::function({main->params[0]}, ir::substitute(main->body, constants), {});
  Result<ir::Module> typed = typing::infer(*module);
  RELAY_CHECK(typed, "{}", render(typed.errors()));
  return *typed;
}

CompileOptions options_for(const char* target, const lower::RuleSet& refused) {
  CompileOptions options;
  options.target = *find_target(target);
  options.refused_rules = refused;
  return options;
}

struct Outcome {
  Tensor result;
  std::vector<std::string> refusals;
};

Outcome run(const Case& c, const CompileOptions& options) {
  Result<Compiled> compiled = compile(module_of(c), options);
  RELAY_CHECK(compiled, "{}", render(compiled.errors()));
  const Tensor x = values(c.input, 37);
  Result<std::vector<Tensor>> out = compiled->executable->run(std::vector<Tensor>{x});
  RELAY_CHECK(out, "{}", render(out.errors()));
  return {(*out)[0], compiled->report.refusals};
}

// The largest difference, in parts of the largest value.
double difference(const Tensor& a, const Tensor& b) {
  double most = 0, largest = 0;
  const float *x = static_cast<const float*>(a.data()), *y = static_cast<const float*>(b.data());
  for (int64_t i = 0; i < a.elements(); ++i) {
    most = std::max<double>(most, std::fabs(x[i] - y[i]));
    largest = std::max<double>(largest, std::fabs(y[i]));
  }
  return most / largest;
}

lower::RuleSet all_rules() {
  lower::RuleSet all;
  for (size_t i = 0; i < std::size(lower::rule_names); ++i) all.insert(static_cast<lower::Rule>(i));
  return all;
}

TEST(RefusedRules, EveryProgramCompilesIsRightAndSaysWhatItLost) {
  std::vector<lower::RuleSet> sets{all_rules()};
  for (lower::Rule rule : all_rules()) sets.push_back({rule});
  for (const Case& c : cases) {
    const Outcome expected = run(c, options_for("native", {}));
    EXPECT_TRUE(expected.refusals.empty()) << c.name << ": " << expected.refusals[0];
    for (const lower::RuleSet& refused : sets) {
      SCOPED_TRACE(format("{} without {}", c.name, refused.size() > 1 ? "any rule" : name(*refused.begin())));
      const Outcome got = run(c, options_for("native", refused));
      // Sums of up to 1024 terms in another order, and Winograd's and Strassen's forms: 1e-5 of the largest result.
      EXPECT_LT(difference(got.result, expected.result), 1e-5);
      if (refused.size() > 1) EXPECT_FALSE(got.refusals.empty());
      for (const std::string& refusal : got.refusals)
        EXPECT_NE(refusal.find("is computed without the schedule rule"), std::string::npos) << refusal;
    }
  }
}

// On a named target, so that every rule is used whatever this machine is.
TEST(RefusedRules, EveryRuleCanBeLostAndStrictSaysSo) {
  for (lower::Rule rule : all_rules()) {
    SCOPED_TRACE(name(rule));
    bool lost = false;
    for (const Case& c : cases) {
      CompileOptions options = options_for("zen4", {rule});
      Result<ir::Module> module = optimise(module_of(c), options);
      ASSERT_TRUE(module) << render(module.errors());
      Result<LoweredProgram> lowered = lower_program(*module, {}, options);
      ASSERT_TRUE(lowered) << render(lowered.errors());
      bool here = false;
      for (const exec::LoweredSegment& s : lowered->segments)
        for (const lower::Refusal& refusal : s.lowered.refusals) here |= refusal.without.count(rule) > 0;
      options.strict = true;
      Result<LoweredProgram> strict = lower_program(*module, {}, options);
      EXPECT_EQ(static_cast<bool>(strict), !here) << c.name;
      if (!strict)
        EXPECT_NE(render(strict.errors()).find("a mistake in Relay, not in your program"), std::string::npos);
      lost |= here;
    }
    EXPECT_TRUE(lost) << "no program of this test uses the rule";
  }
}

// Code generation refuses register tiles that do not fit, after the nest has accepted them: with fewer registers than
// the rules think that there are, every tile gives way to the next simpler schedule.
TEST(RefusedRules, WhatCodeGenerationRefusesGivesWayToo) {
  std::set<std::string> refused;
  for (const Case& c : cases) {
    const Outcome expected = run(c, options_for("native", {}));
    for (int registers : {2, 6}) {
      SCOPED_TRACE(format("{} with {} registers", c.name, registers));
      CompileOptions options = options_for("native", {});
      options.codegen_registers = registers;
      const Outcome got = run(c, options);
      EXPECT_LT(difference(got.result, expected.result), 1e-5);
      if (!got.refusals.empty()) refused.insert(c.name);
      for (const std::string& refusal : got.refusals) {
        EXPECT_NE(refusal.find("is computed without the schedule rule"), std::string::npos) << refusal;
        EXPECT_NE(refusal.find("vector registers for its register buffers"), std::string::npos) << refusal;
      }
      options.strict = true;
      Result<Compiled> strict = compile(module_of(c), options);
      EXPECT_EQ(static_cast<bool>(strict), got.refusals.empty());
      if (!strict)
        EXPECT_NE(render(strict.errors()).find("a mistake in Relay, not in your program"), std::string::npos);
    }
  }
  for (const char* name : {"winograd", "strassen", "attention", "silu", "sliding"})
    EXPECT_TRUE(refused.count(name)) << name;
}

}  // namespace
}  // namespace relay::driver
