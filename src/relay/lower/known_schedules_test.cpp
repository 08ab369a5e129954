#include "relay/lower/known_schedules.h"

#include <gtest/gtest.h>

#include <limits>

namespace relay::lower {
namespace {

using scalar::Expr;
using scalar::Exprs;
using te::Tensor;
using te::Tensors;

// relu(x[i] * factor + w[i]), of which each call makes other nodes.
Tensors stages(double factor = 2, int64_t size = 16, const char* name = "relu") {
  const Tensor x = te::placeholder("x", {scalar::imm(size)}, DType::float32()),
               w = te::placeholder("w", {scalar::imm(size)}, DType::float32());
  const Tensor sum =
      te::compute("sum", {scalar::imm(size)}, [&](const Exprs& i) { return (*x)(i)*scalar::fimm(factor) + (*w)(i); });
  return te::topological({te::compute(name, {scalar::imm(size)},
                                      [&](const Exprs& i) { return scalar::max((*sum)(i), scalar::fimm(0)); })});
}

TEST(KnownSchedules, EqualStages) {
  EXPECT_TRUE(are_equal(stages(), stages()));
  EXPECT_FALSE(are_equal(stages(), stages(3)));
  EXPECT_FALSE(are_equal(stages(), stages(2, 32)));
  EXPECT_FALSE(are_equal(stages(), stages(2, 16, "other")));
  EXPECT_FALSE(are_equal(stages(0.0), stages(-0.0)));
  Tensors more = stages();
  more.pop_back();
  EXPECT_FALSE(are_equal(more, stages()));
}

// y[i] = (x[i] + 1) * (x[i] + 1), with one node for both factors or two.
TEST(KnownSchedules, SharedNodes) {
  auto square = [](bool shared) {
    const Tensor x = te::placeholder("x", {scalar::imm(4)}, DType::float32());
    return te::topological({te::compute("y", {scalar::imm(4)}, [&](const Exprs& i) {
      const Expr a = (*x)(i) + scalar::fimm(1);
      return a * (shared ? a : (*x)(i) + scalar::fimm(1));
    })});
  };
  EXPECT_TRUE(are_equal(square(true), square(true)));
  EXPECT_TRUE(are_equal(square(false), square(false)));
  EXPECT_FALSE(are_equal(square(true), square(false)));
  EXPECT_FALSE(are_equal(square(false), square(true)));
}

// Variables of sizes are compared by node, and two programs may name different ones alike.
TEST(KnownSchedules, SymbolicSizes) {
  auto doubled = [] {
    const Expr n = scalar::var("n");
    const Tensor x = te::placeholder("x", {n}, DType::float32());
    return te::topological({te::compute("y", {n}, [&](const Exprs& i) { return (*x)(i) + (*x)(i); })});
  };
  EXPECT_FALSE(are_equal(doubled(), doubled()));
}

TEST(KnownSchedules, Found) {
  auto draft = [](float weight) {
    ScheduleDraft d;
    d.set_outputs({stages().back()});
    d.constants = {"w"}, d.values["w"] = relay::Tensor::full({16}, DType::float32(), weight);
    d.layouts["x"] = d.layouts["relu"] = Layout::row_major(1);
    return d;
  };
  const std::vector<OutputLayout> outputs = {{1, Layout::row_major(1)}};
  KnownSchedules known;
  EXPECT_EQ(known.find("key", draft(1), outputs), nullptr);
  ScheduledGroup made;
  made.key = "key";
  known.add("key", draft(1), outputs, made);
  ASSERT_NE(known.find("key", draft(2), outputs), nullptr) << "other weights";
  EXPECT_EQ(known.find("key", draft(2), outputs)->key, "key");
  EXPECT_EQ(known.find("other", draft(2), outputs), nullptr);
  EXPECT_EQ(known.find("key", draft(std::numeric_limits<float>::infinity()), outputs), nullptr)
      << "zero times an infinite weight is not zero";
  EXPECT_EQ(known.find("key", draft(2), {{1, Layout{{{0, 8}, {0, 8, true}}}}}), nullptr) << "another layout";
  ScheduleDraft other = draft(2);
  other.constants.clear();
  EXPECT_EQ(known.find("key", other, outputs), nullptr);
  other = draft(2), other.form.reads_halo.insert("sum");
  EXPECT_EQ(known.find("key", other, outputs), nullptr);
}

}  // namespace
}  // namespace relay::lower
