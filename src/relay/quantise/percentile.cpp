// percentile: leaves out the largest magnitudes, (100 - percentile) % of the values. Values are counted by bins: the
// bound is the outer edge of the bin that holds the percentile.
#include <algorithm>
#include <cmath>

#include "relay/quantise/calibration.h"

namespace relay::quantise {

Range percentile(const Histogram& histogram, const CalibrationRequest& request) {
  std::vector<std::pair<double, double>> by_magnitude;  // the outer edge of each bin, with its count
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    const double low = histogram.least + static_cast<double>(i) * histogram.width();
    by_magnitude.emplace_back(std::max(std::abs(low), std::abs(low + histogram.width())), histogram.counts[i]);
  }
  std::sort(by_magnitude.begin(), by_magnitude.end());
  const double wanted = histogram.total() * request.percentile / 100;
  double seen = 0, bound = 0;
  for (const auto& [edge, count] : by_magnitude) {
    if (seen >= wanted) break;
    seen += count, bound = edge;
  }
  return {std::max(histogram.least, -bound), std::min(histogram.most, bound)};
}

}  // namespace relay::quantise
