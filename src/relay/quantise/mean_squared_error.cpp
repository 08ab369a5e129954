// mean_squared_error: tries ranges of 1 % to 100 % of the largest magnitude, and chooses the one for which the squared
// difference between values and their integers is least. The values of a bin are represented by its centre.
#include <algorithm>
#include <cmath>
#include <limits>

#include "relay/quantise/calibration.h"
#include "relay/transform/quantise/annotate.h"

namespace relay::quantise {

static double squared_error(const Histogram& histogram, const transform::IntegerRange& r) {
  double sum = 0;
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    if (histogram.counts[i] == 0) continue;
    const double x = histogram.centre(i), zero = static_cast<double>(r.zero_point);
    const double q =
        std::clamp(std::nearbyint(x / r.scale) + zero, static_cast<double>(r.least), static_cast<double>(r.most));
    const double error = r.scale * (q - zero) - x;
    sum += histogram.counts[i] * error * error;
  }
  return sum;
}

Range mean_squared_error(const Histogram& histogram, const CalibrationRequest& request) {
  constexpr int steps = 100;
  Range best{histogram.least, histogram.most};
  double least_error = std::numeric_limits<double>::infinity();
  for (int i = steps; i >= 1; --i) {
    const Range range = clipped(histogram, static_cast<double>(i) / steps);
    const double error =
        squared_error(histogram, transform::integer_range(range.least, range.most, request.bits, request.symmetric));
    if (error < least_error) least_error = error, best = range;
  }
  return best;
}

}  // namespace relay::quantise
