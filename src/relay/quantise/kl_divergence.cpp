// kl_divergence: chooses the range whose distribution, after rounding to integers, has the least Kullback-Leibler
// divergence from that of the values (S. Migacz, "8-bit Inference with TensorRT", GTC 2017).
//
// P is the histogram inside of the range, with the values outside of it added to its ends. Q is the histogram inside of
// the range, summed over as many groups of bins as there are integers, each sum spread over the bins of its group that
// are not empty. Empty bins of Q count `least_count`. Ranges of fewer bins than integers are not tried.
#include <algorithm>
#include <cmath>
#include <limits>

#include "relay/quantise/calibration.h"

namespace relay::quantise {

static constexpr double least_count = 1e-4;

// The bins [first, last] as `levels` groups.
static std::vector<double> rounded(const Histogram& histogram, size_t first, size_t last, size_t levels) {
  const size_t bins = last - first + 1;
  std::vector<double> out(bins, least_count);
  for (size_t level = 0; level < levels; ++level) {
    const size_t begin = level * bins / levels, end = (level + 1) * bins / levels;
    double sum = 0, filled = 0;
    for (size_t i = begin; i < end; ++i) {
      sum += histogram.counts[first + i];
      filled += histogram.counts[first + i] > 0 ? 1 : 0;
    }
    for (size_t i = begin; i < end; ++i)
      if (histogram.counts[first + i] > 0) out[i] = sum / filled;
  }
  return out;
}

static double divergence(const Histogram& histogram, size_t first, size_t last, size_t levels) {
  std::vector<double> p(histogram.counts.begin() + static_cast<int64_t>(first),
                        histogram.counts.begin() + static_cast<int64_t>(last) + 1);
  for (size_t i = 0; i < first; ++i) p.front() += histogram.counts[i];
  for (size_t i = last + 1; i < histogram.counts.size(); ++i) p.back() += histogram.counts[i];
  const std::vector<double> q = rounded(histogram, first, last, levels);
  double p_sum = 0, q_sum = 0, out = 0;
  for (const double x : p) p_sum += x;
  for (const double x : q) q_sum += x;
  for (size_t i = 0; i < p.size(); ++i)
    if (p[i] > 0) out += p[i] / p_sum * std::log(p[i] / p_sum / (q[i] / q_sum));
  return out;
}

Range kl_divergence(const Histogram& histogram, const CalibrationRequest& request) {
  constexpr int steps = 128;
  const size_t levels = (size_t{1} << request.bits) - (request.symmetric ? 1 : 0);
  Range best{histogram.least, histogram.most};
  double least = std::numeric_limits<double>::infinity();
  for (int i = steps; i >= 1; --i) {
    const Range range = clipped(histogram, static_cast<double>(i) / steps);
    const size_t first = histogram.bin(range.least), last = histogram.bin(range.most);
    if (last - first + 1 < levels) break;
    const double now = divergence(histogram, first, last, levels);
    if (now < least) least = now, best = range;
  }
  return best;
}

}  // namespace relay::quantise
