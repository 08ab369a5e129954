#include "relay/c_project/sizes.h"

#include <gtest/gtest.h>

#include <random>

#include "relay/c_project/memory.h"

namespace relay::c_project {
namespace {

using runtime::SizeExpr;
using runtime::SizeOp;

SizeExpr n() { return SizeExpr::variable(0); }
SizeExpr number(int64_t value) { return SizeExpr::constant(value); }

// An expression over two variables with every operator.
SizeExpr random_size(std::mt19937& random, int depth) {
  auto pick = [&](int64_t end) { return static_cast<int64_t>(random() % static_cast<uint64_t>(end)); };
  if (depth == 0) return pick(2) ? SizeExpr::variable(pick(2)) : number(pick(9) - 2);
  const SizeOp op = static_cast<SizeOp>(2 + pick(runtime::size_op_count - 2));
  SizeExpr e = random_size(random, depth - 1);
  const bool is_single = op == SizeOp::Neg || op == SizeOp::Not || op == SizeOp::Abs;
  for (int more = is_single ? 0 : op == SizeOp::Select ? 2 : 1; more > 0; --more) {
    const SizeExpr other = random_size(random, depth - 1);
    e.words.insert(e.words.end(), other.words.begin(), other.words.end());
  }
  e.words.push_back({op, 0});
  return e;
}

TEST(Sizes, BoundsContainEveryValue) {
  std::mt19937 random(7);
  int bounded = 0;
  for (int round = 0; round < 4000; ++round) {
    const SizeExpr e = random_size(random, 1 + round % 4);
    const Bounds variables[] = {{0, 6}, {0, 5}};
    const std::optional<Bounds> b = bounds_of(e, variables);
    if (!b) continue;
    ++bounded;
    for (int64_t x = 0; x <= 6; ++x)
      for (int64_t y = 0; y <= 5; ++y) {
        const int64_t values[] = {x, y};
        const std::optional<int64_t> value = runtime::evaluate(e, values);
        ASSERT_TRUE(value) << c_size(e, std::vector<std::string>{"x", "y"});
        ASSERT_TRUE(b->least <= *value && *value <= b->most)
            << c_size(e, std::vector<std::string>{"x", "y"}) << " at " << x << ", " << y << " is " << *value
            << ", not in " << b->least << " to " << b->most;
      }
  }
  EXPECT_GT(bounded, 1000);
}

TEST(Sizes, BoundsOfUsualShapesAreTight) {
  const Bounds variables[] = {{0, 128}};
  const SizeExpr blocks = runtime::apply(SizeOp::FloorDiv, runtime::apply(SizeOp::Add, n(), number(15)), number(16));
  EXPECT_EQ(bounds_of(runtime::apply(SizeOp::Mul, blocks, number(64)), variables), (Bounds{0, 512}));
  EXPECT_EQ(bounds_of(runtime::apply(SizeOp::Sub, n(), number(2)), variables), (Bounds{-2, 126}));
  EXPECT_FALSE(bounds_of(runtime::apply(SizeOp::FloorDiv, number(8), n()), variables));
}

TEST(Sizes, ExpressionsInC) {
  const std::vector<std::string> names{"n"};
  EXPECT_EQ(c_size(number(5), names), "5");
  EXPECT_EQ(c_size(number(int64_t{1} << 40), names), "INT64_C(1099511627776)");
  EXPECT_EQ(c_size(runtime::apply(SizeOp::Mul, runtime::apply(SizeOp::Add, n(), number(1)), number(4)), names),
            "((n + 1) * 4)");
  const std::string divided = c_size(runtime::apply(SizeOp::FloorDiv, n(), number(2)), names);
  EXPECT_EQ(divided, "relay_floor_div(n, 2)");
  EXPECT_NE(size_helpers(divided).find("static int64_t relay_floor_div("), std::string::npos);
  EXPECT_EQ(size_helpers("n + 1"), "");
}

TEST(Locations, OverlapInOneMemoryOnly) {
  const Location a{Place::Workspace, 0, 0, 64}, b{Place::Workspace, 0, 32, 64}, c{Place::Workspace, 1, 32, 64};
  EXPECT_TRUE(overlap(a, b));
  EXPECT_FALSE(overlap(a, c));
  EXPECT_FALSE(overlap(a, Location{Place::Workspace, 0, 64, 64}));
  EXPECT_FALSE(overlap(Location{Place::Input, 0, 0, 8}, Location{Place::Input, 1, 0, 8}));
}

}  // namespace
}  // namespace relay::c_project
