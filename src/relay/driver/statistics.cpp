#include "relay/driver/statistics.h"

#include <algorithm>
#include <cmath>

namespace relay::driver {

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

}  // namespace relay::driver
