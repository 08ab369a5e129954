#include "relay/measure/residency.h"

#include <gtest/gtest.h>

namespace relay::measure {
namespace {

constexpr int64_t kb = 1 << 10, mb = 1 << 20;
constexpr CacheSizes caches{1 * mb, 32 * mb};

runtime::StepTime step(double begin_us, double us, std::vector<runtime::StepTime::Memory> arrays) {
  runtime::StepTime s;
  s.begin_us = begin_us, s.us = us, s.arrays = std::move(arrays);
  return s;
}

TEST(Residency, WhatWasUsedSinceDecides) {
  const uintptr_t x = 0, y = 64 * mb, z = 128 * mb;
  // x is used by both steps of a run, y and z by one each.
  auto run = [&](double at, int64_t middle) {
    return std::vector<runtime::StepTime>{step(at, 10, {{x, 100 * kb}, {y, middle}}),
                                          step(at + 10, 10, {{x, 100 * kb}, {z, 100 * kb}})};
  };
  for (auto [middle, level] :
       std::vector<std::pair<int64_t, Level>>{{100 * kb, Level::L2}, {2 * mb, Level::L3}, {40 * mb, Level::Memory}}) {
    const std::vector<std::vector<Residency>> found = residencies(run(0, middle), run(20, middle), caches);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[1][0].level, level) << "x, after y of " << middle;
    EXPECT_EQ(found[1][1].level, level) << "z, used in the run before";
    EXPECT_EQ(found[1][0].age_us, 5);  // from the middle of the first step
    EXPECT_EQ(found[1][1].age_us, 15);
  }
}

TEST(Residency, MemoryThatOtherArraysHad) {
  // A range whose first half was another array's, and an unused one.
  const std::vector<runtime::StepTime> before{step(0, 2, {{0, 64 * kb}})},
      last{step(10, 2, {{0, 128 * kb}, {mb, 64 * kb}, {0, 128 * kb}})};
  const std::vector<std::vector<Residency>> found = residencies(before, last, caches);
  ASSERT_EQ(found[0].size(), 2u);  // without duplicates
  EXPECT_EQ(found[0][0].level, Level::L2);
  EXPECT_EQ(found[0][1].level, Level::Memory);
}

// Many small arrays that are used once per run each: the time grows linearly with their number.
TEST(Residency, ManySteps) {
  constexpr int64_t steps = 100000;
  std::vector<runtime::StepTime> before, last;
  for (int64_t i = 0; i < steps; ++i) {
    const std::vector<runtime::StepTime::Memory> arrays{{static_cast<uintptr_t>(mb + i * 64), 64},
                                                        {static_cast<uintptr_t>(i % 2 * 64), 64}};
    before.push_back(step(static_cast<double>(i), 1, arrays));
    last.push_back(step(static_cast<double>(steps + i), 1, arrays));
  }
  const std::vector<std::vector<Residency>> found = residencies(before, last, {1 * mb, 4 * mb});
  EXPECT_EQ(found.back()[0].level, Level::Memory);  // 6.4 MB were used since
  EXPECT_EQ(found.back()[1].level, Level::L2);
}

}  // namespace
}  // namespace relay::measure
