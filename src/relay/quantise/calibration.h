// Calibration: chooses the range of numbers that integers represent, from a histogram of the values that occurred.
//
//   const Calibration* method = find_calibration("kl_divergence");      null if there is none
//   Range range = method->choose(histogram, {.bits = 8});
//
// A method is a file of this folder and a line in calibrations.def.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace relay::quantise {

// The values of a tensor over all runs: equal bins from the least to the largest value, both finite. A single value is
// a range without width, in the first bin.
struct Histogram {
  double least = 0, most = 0;
  std::vector<double> counts{};

  double width() const { return (most - least) / static_cast<double>(counts.size()); }
  double centre(size_t bin) const { return least + (static_cast<double>(bin) + 0.5) * width(); }
  // The bin of a value inside of the range.
  size_t bin(double value) const;
  double total() const;
};

struct Range {
  double least = 0, most = 0;
};

// The integers that the range is for.
struct CalibrationRequest {
  int bits = 8;               // 2 to 16
  bool symmetric = false;     // the integers of both signs, without the least
  double percentile = 99.99;  // for the method of this name, above 50 and at most 100
};

struct Calibration {
  const char* name;
  const char* doc;
  Range (*choose)(const Histogram& histogram, const CalibrationRequest& request);
};
const std::vector<Calibration>& all_calibrations();
const Calibration* find_calibration(std::string_view name);

// Ranges that leave out large magnitudes: `part` of the largest magnitude, in (0, 1].
Range clipped(const Histogram& histogram, double part);

#define RELAY_CALIBRATION(name, doc) Range name(const Histogram& histogram, const CalibrationRequest& request);
#include "relay/quantise/calibrations.def"
#undef RELAY_CALIBRATION

}  // namespace relay::quantise
