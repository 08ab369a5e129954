// The results of compiled programs that take the memory of inputs, the reasons why others do not, and their values.
#include "relay/driver/donate.h"

#include <gtest/gtest.h>

#include "relay/driver/compile.h"
#include "relay/driver/targets.h"
#include "relay/eval/eval.h"
#include "relay/text/text.h"

namespace relay::driver {
namespace {

Compiled compiled(const std::string& main, Donated donate = {}) {
  Result<ir::Module> module = text::parse("#[version = \"0.0.5\"]\n" + main);
  if (!module) throw CompileError(module.errors());
  Result<TargetDesc> target = find_target("native");
  if (!target) throw CompileError(target.errors());
  Result<Compiled> made =
      compile(*module, {.lower = {.target = *target}, .run = {.threads = 1, .donate = std::move(donate)}});
  if (!made) throw CompileError(made.errors());
  return *std::move(made);
}

// "output 0 updates cache", "output 1 in place of w"; then the reasons why other inputs keep their memory.
std::string placed(const std::string& main) {
  const Compiled made = compiled(main);
  const lower::LoweredFunction& l = made.lowered[0];
  std::string out;
  for (const lower::Array& a : l.arrays)
    if (a.in_place)
      out += format("output {} {} {}\n", a.index, a.in_place->updates ? "updates" : "in place of",
                    l.input_names[a.in_place->input]);
  for (const auto& [input, why] : l.not_in_place)
    out += format("{}: {}\n", l.input_names[static_cast<size_t>(input)], why);
  return out;
}

constexpr const char* no_type = "no result has its type and shape";
constexpr const char* scatter =
    "def @main(%cache: Tensor[(2, 9, 4), float32], %i: Tensor[(2, 1, 4), int64], %r: Tensor[(2, 1, 4), float32]) {\n"
    "  scatter_elements(%cache, %i, %r, axis=1) }";

TEST(Donate, AScatterUpdatesItsInput) {
  EXPECT_EQ(placed(scatter), format("output 0 updates cache\ni: {0}\nr: {0}\n", no_type));
}

TEST(Donate, SoDoesAChainWithAResultElementByElement) {
  EXPECT_EQ(placed("def @main(%c: Tensor[(n, 4), float32], %i: Tensor[(1, 2), int64], %r: Tensor[(2, 4), float32]) {\n"
                   "  tanh(scatter_nd(scatter_nd(%c, %i, %r), %i, negative(%r)))\n}"),
            format("output 0 updates c\ni: {0}\nr: {0}\n", no_type));
}

TEST(Donate, OneInputForOneResult) {
  EXPECT_EQ(placed("def @main(%w: Tensor[(8, 4), float32], %g: Tensor[(8, 4), float32]) {\n"
                   "  (subtract(%w, multiply(%g, 0.5f)), nn.dense(%g, %g))\n}")
                .substr(0, 24),
            "output 0 in place of w\ng");
}

TEST(Donate, WhatIsReadLaterOrOtherwiseKeepsItsMemory) {
  const std::string later =
      placed("def @main(%x: Tensor[(4, 4), float32]) { let %y = tanh(%x); (%y, nn.dense(%y, %x)) }");
  EXPECT_NE(later.find("reads it after"), std::string::npos) << later;
  EXPECT_EQ(placed("def @main(%x: Tensor[(4, 4), float32]) { (%x, tanh(%x)) }"), "x: it is a result itself\n");
  for (const char* body : {"transpose(%x)", "add(%x, transpose(%x))", "nn.softmax(%x)"})
    EXPECT_EQ(placed(format("def @main(%x: Tensor[(4, 4), float32]) {{ {} }}", body)),
              "x: no result is computed from it element by element, or by changing some of its elements\n")
        << body;
}

Tensor counted(Shape shape, DType dtype, int64_t below) {
  Tensor t = Tensor::empty(std::move(shape), dtype);
  for (int64_t i = 0; i < t.elements(); ++i)
    dtype.is_int() ? t.set_int(i, i * 7 % below) : t.set(i, static_cast<double>(i * 7 % below));
  return t;
}

TEST(Donate, TheReportSaysWhatIsInPlace) {
  Compiled made = compiled(scatter, {{"cache", {}}, {"i", {}}});
  ASSERT_EQ(made.report.donations.size(), 2u);
  EXPECT_TRUE(made.report.donations[0].in_place);
  EXPECT_EQ(made.report.donations[1].reason, no_type);
  std::vector<Tensor> in = {counted({2, 9, 4}, DType::float32(), 100), counted({2, 1, 4}, DType::int64(), 9),
                            counted({2, 1, 4}, DType::float32(), 50)};
  std::vector<Tensor> wanted = {Tensor::empty({2, 9, 4}, DType::float32())};
  for (int64_t i = 0; i < 72; ++i) wanted[0].set(i, in[0].at(i));
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t x = 0; x < 4; ++x) {
      const int64_t from = b * 4 + x;
      wanted[0].set(b * 36 + static_cast<int64_t>(in[1].at(from)) * 4 + x, in[2].at(from));
    }
  runtime::Report report;
  Result<std::vector<Tensor>> out = made.executable->run(in, {.report = &report});
  ASSERT_TRUE(out) << render(out.errors());
  EXPECT_EQ((*out)[0].data(), in[0].data());
  EXPECT_TRUE(equal((*out)[0], wanted[0]));
  EXPECT_EQ(report.copied_bytes, 0);
  EXPECT_EQ(report.arena_bytes, 0);
}

// A loop that carries a cache: only the caller's array, which is kept, is copied once.
TEST(Donate, ALoopUpdatesWhatItCarries) {
  Compiled made = compiled(
      "def @loop(%i: Tensor[(), int64], %c: Tensor[(1000, 8), float32], %r: Tensor[(1, 8), float32]) {\n"
      "  if (less(%i, 1000i64)) { @loop(add(%i, 1i64), scatter_nd(%c, reshape(%i, newshape=[1, 1]), %r), %r) }\n"
      "  else { %c } }\n"
      "def @main(%c: Tensor[(1000, 8), float32], %r: Tensor[(1, 8), float32]) { @loop(0i64, %c, %r) }",
      {{"c", 0}});
  std::vector<Tensor> in = {counted({1000, 8}, DType::float32(), 100), counted({1, 8}, DType::float32(), 50)};
  runtime::Report report;
  Result<std::vector<Tensor>> out = made.executable->run(in, {.report = &report});
  ASSERT_TRUE(out) << render(out.errors());
  EXPECT_EQ((*out)[0].data(), in[0].data());
  EXPECT_GE(report.segments, 1000);
  EXPECT_EQ(report.copied_bytes, 0);
  for (int64_t i = 0; i < 8000; ++i) ASSERT_EQ(in[0].at(i), in[1].at(i % 8)) << i;
}

TEST(Donate, WhatCannotBeGivenAwayIsRefused) {
  auto refused = [](Donated donate) {
    try {
      compiled("def @main(%x: Tensor[(4, 4), float32], %y: Tensor[(4), float32]) { (tanh(%x), %y) }",
               std::move(donate));
    } catch (const CompileError& e) {
      return e.diagnostics[0].message;
    }
    return std::string();
  };
  EXPECT_EQ(refused({{"x", 0}, {"y", 1}}), "");
  EXPECT_EQ(refused({{"z", {}}}), "the input `z` to donate does not exist");
  EXPECT_EQ(refused({{"x", 2}}), "result 2 cannot take the input `x`: it does not exist");
  EXPECT_EQ(refused({{"x", "out"}}), "result `out` cannot take the input `x`: it does not exist");
  EXPECT_NE(refused({{"y", 0}}).find("result 0 cannot take the input `y`: the result is"), std::string::npos);
}

}  // namespace
}  // namespace relay::driver
