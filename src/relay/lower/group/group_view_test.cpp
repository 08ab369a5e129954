#include "relay/lower/group/group_view.h"

#include <gtest/gtest.h>

#include "relay/lower/group/equal_stages.h"

namespace relay::lower {
namespace {

using scalar::imm;

te::Tensor sum_of(const std::string& name, const te::Tensor& a, const te::Tensor& b) {
  return te::compute(name, a->shape, [&](const scalar::Exprs& i) { return (*a)(i) + (*b)(i); });
}

std::vector<std::string> names(const GroupView& group, const StageIds& ids) {
  std::vector<std::string> out;
  for (const StageId id : ids) out.push_back(group.stage(id)->name);
  return out;
}

TEST(GroupView, KnowsStagesByNameAndTheirReaders) {
  const te::Tensor x = te::placeholder("x", {imm(8)}, DType::float32());
  const te::Tensor a = sum_of("a", x, x), b = sum_of("b", a, x), c = sum_of("c", b, a);
  const GroupView group({c, b});
  ASSERT_EQ(group.stages(), (te::Tensors{x, a, b, c}));
  EXPECT_EQ(group.stage("b"), b);
  EXPECT_EQ(group.find("other"), std::nullopt);
  EXPECT_EQ(group.find(*sum_of("a", x, x)), std::nullopt);  // of the same name, but not of the group
  EXPECT_TRUE(group.is_output(b) && group.is_output(c));
  EXPECT_FALSE(group.is_output(a));
  auto readers = [&](const char* name) { return names(group, group.readers(*group.find(name))); };
  EXPECT_EQ(readers("x"), (std::vector<std::string>{"a", "b"}));  // each once
  EXPECT_EQ(readers("a"), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(readers("c"), std::vector<std::string>());
}

TEST(GroupView, RefusesUnknownNames) {
  const GroupView group({te::placeholder("x", {imm(8)}, DType::float32())});
  EXPECT_THROW(group.stage("y"), InternalError);
}

// relu(x[i] * factor + w[i]), of which each call makes other nodes.
te::Tensors stages(double factor = 2, int64_t size = 16, const char* name = "relu") {
  const te::Tensor x = te::placeholder("x", {scalar::imm(size)}, DType::float32()),
                   w = te::placeholder("w", {scalar::imm(size)}, DType::float32());
  const te::Tensor sum = te::compute("sum", {scalar::imm(size)},
                                     [&](const scalar::Exprs& i) { return (*x)(i)*scalar::fimm(factor) + (*w)(i); });
  return te::topological({te::compute(
      name, {scalar::imm(size)}, [&](const scalar::Exprs& i) { return scalar::max((*sum)(i), scalar::fimm(0)); })});
}

TEST(EqualStages, EqualStages) {
  EXPECT_TRUE(are_equal(stages(), stages()));
  EXPECT_FALSE(are_equal(stages(), stages(3)));
  EXPECT_FALSE(are_equal(stages(), stages(2, 32)));
  EXPECT_FALSE(are_equal(stages(), stages(2, 16, "other")));
  EXPECT_FALSE(are_equal(stages(0.0), stages(-0.0)));
  te::Tensors more = stages();
  more.pop_back();
  EXPECT_FALSE(are_equal(more, stages()));
}

// y[i] = (x[i] + 1) * (x[i] + 1), with one node for both factors or two.
TEST(EqualStages, SharedNodes) {
  auto square = [](bool shared) {
    const te::Tensor x = te::placeholder("x", {scalar::imm(4)}, DType::float32());
    return te::topological({te::compute("y", {scalar::imm(4)}, [&](const scalar::Exprs& i) {
      const scalar::Expr a = (*x)(i) + scalar::fimm(1);
      return a * (shared ? a : (*x)(i) + scalar::fimm(1));
    })});
  };
  EXPECT_TRUE(are_equal(square(true), square(true)));
  EXPECT_TRUE(are_equal(square(false), square(false)));
  EXPECT_FALSE(are_equal(square(true), square(false)));
  EXPECT_FALSE(are_equal(square(false), square(true)));
}

// Variables of sizes are compared by node, and two programs may name different ones alike.
TEST(EqualStages, SymbolicSizes) {
  auto doubled = [] {
    const scalar::Expr n = scalar::var("n");
    const te::Tensor x = te::placeholder("x", {n}, DType::float32());
    return te::topological({te::compute("y", {n}, [&](const scalar::Exprs& i) { return (*x)(i) + (*x)(i); })});
  };
  EXPECT_FALSE(are_equal(doubled(), doubled()));
}

}  // namespace
}  // namespace relay::lower
