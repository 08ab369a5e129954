#include "relay/measure/paired_benchmark.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace relay::measure {

// Engines that report fixed times, and record the order of calls.
static Engine told(const std::string& name, double us, std::string& order) {
  return {name, [us, &order, name](double) -> Result<std::vector<double>> {
            order += name;
            return std::vector<double>{us, us, 100 * us};
          }};
}

TEST(Contest, RoundsGoForwardAndBackward) {
  std::string order;
  std::vector<Engine> engines{told("a", 2, order), told("b", 3, order), told("c", 8, order)};
  ASSERT_TRUE(paired_benchmark(engines, 1e-3));
  ASSERT_GE(order.size(), 9u);
  EXPECT_EQ(order.substr(0, 9), "abcabccba");  // warm-up, first round, second round
  EXPECT_EQ(order.size() % 3, 0u);
  EXPECT_EQ(engines[0].rounds.size(), order.size() / 3 - 1);
  EXPECT_EQ(engines[0].us.size(), 3 * engines[0].rounds.size());
  Ratio ratio = time_ratio(engines[2], engines[0]);
  EXPECT_EQ(ratio.median, 4);
  ASSERT_TRUE(ratio.interval);  // thousands of rounds fit into a millisecond
  EXPECT_EQ(ratio.interval->low, 4);
}

TEST(Contest, RoundsOfASlowMachineCountForNobody) {
  // Every third round is slow, and both engines then take longer, by different factors.
  int asked = 0;
  auto slow = [&] { return asked / 3 % 3 == 2; };  // three times a round: before, between, after
  auto engine = [&](double us, double us_slow) {
    return Engine{"", [&, us, us_slow](double) -> Result<std::vector<double>> {
                    return std::vector<double>{asked > 0 && slow() ? us_slow : us};
                  }};
  };
  std::vector<Engine> engines{engine(2, 8), engine(6, 12)};
  MachineSpeed speed{.now = [&] {
    double now = slow() ? 60 : 100;
    ++asked;
    return now;
  }};
  Result<Rounds> rounds = paired_benchmark(engines, 1e-3, speed);
  ASSERT_TRUE(rounds);
  EXPECT_TRUE(rounds->quiet);
  EXPECT_GT(rounds->left_out, 0u);
  EXPECT_EQ(rounds->counted, engines[0].rounds.size());
  EXPECT_EQ(time_ratio(engines[1], engines[0]).median, 3);
  EXPECT_EQ(*std::max_element(engines[0].us.begin(), engines[0].us.end()), 2);
}

TEST(Contest, AMachineThatIsNeverQuietIsMeasuredAndSaid) {
  std::string order;
  std::vector<Engine> engines{told("a", 2, order), told("b", 3, order)};
  Result<Rounds> rounds = paired_benchmark(engines, 1e-3, {.now = [] { return 60.0; }, .expected = 100});
  ASSERT_TRUE(rounds);
  EXPECT_FALSE(rounds->quiet);
  EXPECT_EQ(rounds->left_out, 0u);
  EXPECT_EQ(engines[0].rounds.size(), rounds->counted);
}

TEST(Contest, AFailureIsPassedOn) {
  std::vector<Engine> engines{{"bad", [](double) -> Result<std::vector<double>> {
                                 return Diagnostic{DiagnosticKind::bad_option, "it has ended"};
                               }}};
  EXPECT_FALSE(paired_benchmark(engines, 1));
  engines[0].run = [](double) -> Result<std::vector<double>> { return std::vector<double>{}; };
  EXPECT_FALSE(paired_benchmark(engines, 0));
}

static Tensor tensor(const std::vector<double>& values) {
  return Tensor::from_doubles({static_cast<int64_t>(values.size())}, DType::float32(), values);
}

TEST(Contest, DifferencesAreRelativeToTheLargestValue) {
  Difference d = difference({tensor({1, 2, -4.5, 0})}, {tensor({1, 2, -4, 0})});
  EXPECT_EQ(d.largest, 0.125);
  EXPECT_EQ(d.rms, 0.0625);
  double nan = std::nan("");
  EXPECT_EQ(difference({tensor({nan, INFINITY})}, {tensor({nan, INFINITY})}).rms, 0);
  EXPECT_EQ(difference({tensor({nan, 1})}, {tensor({1, 1})}).rms, INFINITY);
  EXPECT_EQ(difference({tensor({1})}, {tensor({1, 1})}).rms, INFINITY);
  EXPECT_EQ(difference({}, {tensor({1, 1})}).rms, INFINITY);
  EXPECT_EQ(difference({tensor({0.5})}, {tensor({0})}).largest, 0.5);
}

}  // namespace relay::measure
