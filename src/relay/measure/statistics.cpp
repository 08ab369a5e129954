#include "relay/measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace relay::measure {

double quantile(std::vector<double> values, double fraction) {
  size_t at = std::min(values.size() - 1, static_cast<size_t>(fraction * static_cast<double>(values.size())));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

std::optional<Interval> median_interval(std::vector<double> values) {
  size_t n = values.size(), k = 0;
  double count = static_cast<double>(n), below = 0;  // the probability of fewer than k + 1 heads
  for (double log_choose = 0; k < n; ++k) {          // of n over k
    below += std::exp(log_choose - count * std::log(2.0));
    if (below > 0.025) break;
    log_choose += std::log(static_cast<double>(n - k)) - std::log(static_cast<double>(k + 1));
  }
  if (k == 0) return std::nullopt;
  std::sort(values.begin(), values.end());
  return Interval{values[k - 1], values[n - k]};
}

static std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> out(values.size());
  for (size_t begin = 0, end; begin < order.size(); begin = end) {
    for (end = begin; end < order.size() && values[order[end]] == values[order[begin]];) ++end;
    for (size_t i = begin; i < end; ++i) out[order[i]] = static_cast<double>(begin + end - 1) / 2;
  }
  return out;
}

std::optional<double> rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 3) return std::nullopt;
  std::vector<double> x = ranks(a), y = ranks(b);
  double mean = static_cast<double>(a.size() - 1) / 2, xx = 0, yy = 0, xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean) * (x[i] - mean), yy += (y[i] - mean) * (y[i] - mean);
    xy += (x[i] - mean) * (y[i] - mean);
  }
  if (xx == 0 || yy == 0) return std::nullopt;
  return xy / std::sqrt(xx * yy);
}

}  // namespace relay::measure
