#include "relay/runtime/program/planner.h"

#include <gtest/gtest.h>

#include <random>

#include "relay/runtime/test_programs.h"

namespace relay::runtime {
namespace {

void expect_disjoint(std::span<const Lifetime> lives, const Placement& p) {
  for (size_t a = 0; a < lives.size(); ++a) {
    EXPECT_EQ(p.offsets[a] % 64, 0);
    EXPECT_LE(p.offsets[a] + lives[a].bytes, p.arena_bytes);
    for (size_t b = 0; b < a; ++b) {
      if (lives[a].last < lives[b].first || lives[b].last < lives[a].first) continue;
      EXPECT_TRUE(p.offsets[a] + lives[a].bytes <= p.offsets[b] || p.offsets[b] + lives[b].bytes <= p.offsets[a])
          << a << " and " << b;
    }
  }
}

TEST(Planner, AChainNeedsTwoArrays) {
  std::vector<Lifetime> lives;
  for (uint32_t i = 0; i < 50; ++i) lives.push_back({1000, i, i + 1});
  Placement p = place(lives);
  EXPECT_EQ(p.arena_bytes, 2048);
  EXPECT_EQ(p.lower_bound, 2048);
  expect_disjoint(lives, p);
}

// Largest first places c between a and d, which leaves no room for b.
TEST(Planner, AnotherOrderIsTriedWhenTheFirstWastes) {
  std::vector<Lifetime> lives = {{64 * 4, 0, 1}, {64 * 3, 1, 4}, {64 * 2, 3, 6}, {64 * 5, 5, 7}, {64, 0, 7}};
  Placement p = place(lives);
  expect_disjoint(lives, p);
  EXPECT_EQ(p.arena_bytes, p.lower_bound);
}

TEST(Planner, ManyArraysTakeNoTime) {
  std::vector<Lifetime> lives;
  for (uint32_t i = 0; i < 20000; ++i) lives.push_back({64 + i % 1000, i, i + 3});
  expect_disjoint(std::span(lives).first(200), place(lives));
}

TEST(Planner, RandomLivesAreDisjointAndNearTheBound) {
  std::mt19937 random(1);
  for (int turn = 0; turn < 50; ++turn) {
    std::vector<Lifetime> lives;
    for (int i = 0; i < 80; ++i) {
      uint32_t first = random() % 100;
      lives.push_back({static_cast<int64_t>(random() % 10000), first, first + static_cast<uint32_t>(random() % 12)});
    }
    Placement p = place(lives);
    expect_disjoint(lives, p);
    EXPECT_GE(p.arena_bytes, p.lower_bound);
    EXPECT_LE(p.arena_bytes, p.lower_bound * 5 / 4);
  }
}

TEST(Planner, SymbolicSizesArePlannedAtTheirValues) {
  std::shared_ptr<Program> program = chain_program(10);
  Result<Plan> p = plan(*program, program->graph(), {16, 8});
  ASSERT_TRUE(p) << render(p.errors());
  EXPECT_EQ(p->arena_bytes, 2 * 16 * 8 * 4);
  EXPECT_EQ(p->lower_bound, p->arena_bytes);
  EXPECT_EQ(p->scratch_bytes, 4096);
  Result<Plan> large = plan(*program, program->graph(), {int64_t{1} << 40, int64_t{1} << 20});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.errors()[0].kind, DiagnosticKind::out_of_memory);
}

TEST(Planner, PartsLieWithinTheirWhole) {
  std::shared_ptr<Program> program = parts_program();
  const Segment& f = program->graph();
  Result<Plan> p = plan(*program, f, {16, 8});
  ASSERT_TRUE(p) << render(p.errors());
  EXPECT_EQ(p->arena_bytes, 2 * 16 * 8 * 4);
  EXPECT_EQ(p->offsets, (std::vector<int64_t>{-1, -1, 0, 0, 16 * 8 * 4}));
  std::vector<Lifetime> lives = lifetimes(f, p->bytes);
  EXPECT_EQ(lives[2].first, 0u);
  EXPECT_EQ(lives[2].last, 2u);
  program->segments[0].arrays[4].offset = SizeExpr::constant(16 * 8 * 4 + 4);
  ASSERT_TRUE(validate(*program));
  EXPECT_FALSE(plan(*program, f, {16, 8}));
  EXPECT_TRUE(plan(*program, f, {17, 8}));
}

}  // namespace
}  // namespace relay::runtime
