// Statistics of repeated measurements: quantiles, and the confidence in a median.
#pragma once

#include <optional>
#include <vector>

namespace relay::measure {

// A quantile of at least one value, in any order: the value that `fraction` of them are below. 0.5 is the median, the
// upper one of two.
double quantile(std::vector<double> values, double fraction);
inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

struct Interval {
  double low = 0, high = 0;
};
// An interval that holds the median of the distribution with a probability of at least 95 %, whatever the distribution:
// from the k-th smallest to the k-th largest value, with the largest k for which fewer than k of n fair coins show
// heads in at most 2.5 % of all cases. Unset for fewer than six values: 1/2^5 > 2.5 %.
std::optional<Interval> median_interval(std::vector<double> values);
// Spearman's rank correlation: 1 if both have the same order, 0 if they are unrelated; equal values share their mean
// rank. Unset with fewer than three values, or if all values of one are equal.
std::optional<double> rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace relay::measure
