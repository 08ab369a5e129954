#include "relay/measure/statistics.h"

#include <gtest/gtest.h>

namespace relay::measure {

TEST(Statistics, Quantiles) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 3);
  EXPECT_EQ(quantile({5, 4, 3, 2, 1}, 0), 1);
  EXPECT_EQ(quantile({5, 4, 3, 2, 1}, 1), 5);
  EXPECT_EQ(median({7}), 7);
}

// The order statistics, as in textbooks on the sign test.
TEST(Statistics, TheIntervalOfAMedian) {
  std::vector<double> values;
  for (int n = 0; n <= 100; ++n) {
    std::optional<Interval> got = median_interval(values);
    int k = n == 6 ? 1 : n == 9 ? 2 : n == 12 ? 3 : n == 20 ? 6 : n == 50 ? 18 : n == 100 ? 40 : 0;
    if (n < 6) EXPECT_FALSE(got) << n;
    if (k > 0) {
      ASSERT_TRUE(got) << n;
      EXPECT_EQ(got->low, k) << n;
      EXPECT_EQ(got->high, n + 1 - k) << n;
    }
    values.insert(values.begin(), n + 1);
  }
}

TEST(Statistics, RankCorrelation) {
  EXPECT_DOUBLE_EQ(*rank_correlation({1, 2, 3}, {10, 20, 1000}), 1);
  EXPECT_DOUBLE_EQ(*rank_correlation({1, 2, 3}, {3, 2, 1}), -1);
  EXPECT_DOUBLE_EQ(*rank_correlation({1, 2, 3, 4}, {1, 3, 2, 4}), 0.8);      // 1 - 6 * 2 / (4 * 15)
  EXPECT_NEAR(*rank_correlation({1, 2, 2, 3}, {1, 2, 3, 4}), 0.9487, 1e-4);  // ranks 1, 2.5, 2.5, 4
  EXPECT_FALSE(rank_correlation({1, 2}, {1, 2}));
  EXPECT_FALSE(rank_correlation({1, 1, 1}, {1, 2, 3}));
}

}  // namespace relay::measure
