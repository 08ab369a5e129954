// What repeated measurements say: quantiles, and how sure a median is.
#pragma once

#include <optional>
#include <vector>

namespace relay::measure {

// Of values in any order; at least one. The value that `fraction` of them lie below: 0.5 is the median, the upper one
// of two.
double quantile(std::vector<double> values, double fraction);
inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

struct Interval {
  double low = 0, high = 0;
};
// Holds the median of what the values were drawn from with a probability of at least 95 %, whatever its distribution:
// the k-th value from below and from above, with the largest k for which fewer than k of n fair coins show heads in at
// most 2.5 % of all cases. Fewer than six values cannot say: 1/2^5 > 2.5 %.
std::optional<Interval> median_interval(std::vector<double> values);
// Spearman's: 1 when both put the same things in the same order, 0 when one says nothing of the other; equal values
// share their mean rank. None with fewer than three, or when all of one are equal.
std::optional<double> rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace relay::measure
