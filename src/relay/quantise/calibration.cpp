#include "relay/quantise/calibration.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace relay::quantise {

size_t Histogram::bin(double value) const {
  if (!(most > least)) return 0;
  const double at = (value - least) / (most - least) * static_cast<double>(counts.size());
  return std::min(static_cast<size_t>(std::max(at, 0.0)), counts.size() - 1);
}

double Histogram::total() const { return std::accumulate(counts.begin(), counts.end(), 0.0); }

const std::vector<Calibration>& all_calibrations() {
  static const std::vector<Calibration> all = {
#define RELAY_CALIBRATION(name, doc) {#name, doc, name},
#include "relay/quantise/calibrations.def"
#undef RELAY_CALIBRATION
  };
  return all;
}

const Calibration* find_calibration(std::string_view name) {
  for (const Calibration& one : all_calibrations())
    if (one.name == name) return &one;
  return nullptr;
}

Range clipped(const Histogram& histogram, double part) {
  const double largest = part * std::max(std::abs(histogram.least), std::abs(histogram.most));
  return {std::max(histogram.least, -largest), std::min(histogram.most, largest)};
}

}  // namespace relay::quantise
