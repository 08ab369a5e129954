// Engines measured in turn on the same inputs, so that whatever else the machine does meets all of them.
//
//   std::vector<Contender> engines{{"relay", run_ours}, {"onnxruntime 1.31.1", run_theirs}};
//   RELAY_RETURN_IF_ERROR(contest(engines, 10));          // rounds of short bursts: forward, backward, forward, ...
//   Ratio ratio = time_ratio(engines[1], engines[0]);     // how much longer the second one takes
//
// Two engines are compared by the bursts of the same round: the ratio is the median of the rounds' ratios, and its interval
// that of a median (statistics.h).
#pragma once

#include <functional>
#include <string>

#include "relay/driver/statistics.h"
#include "relay/tensor/tensor.h"

namespace relay::driver {

struct Contender {
  std::string name;
  // Runs again and again for so many seconds, at least once; the time of every run in microseconds.
  std::function<Result<std::vector<double>>(double seconds)> run;
  // Filled in by contest():
  std::vector<double> us{};      // of every run
  std::vector<double> rounds{};  // the median of each round's burst
};

// Whole rounds until `seconds` are over. Each engine is warmed up first, which is not counted.
Status contest(std::vector<Contender>& engines, double seconds);

struct Ratio {
  double median = 1;
  std::optional<Interval> interval;  // 95 %; none with fewer than six rounds
};
Ratio time_ratio(const Contender& numerator, const Contender& denominator);

// How far results lie from others, in parts of the largest of those: of the output where it is worst. Infinite where shapes
// differ, or where one has a NaN or infinity that the other has not.
struct Difference {
  double rms = 0, largest = 0;
};
Difference difference(const std::vector<Tensor>& got, const std::vector<Tensor>& exact);

}  // namespace relay::driver
