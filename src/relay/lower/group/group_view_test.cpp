#include "relay/lower/group/group_view.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace relay::lower
