// Measures engines in turn on the same inputs, so that other load on the machine affects all of them.
//
//   std::vector<Engine> engines{{"relay", run_ours}, {"onnxruntime 1.31.1", run_theirs}};
//   RELAY_ASSIGN(Rounds rounds, paired_benchmark(engines, 10));  // rounds of bursts: forward, backward, forward, ...
//   Ratio ratio = time_ratio(engines[1], engines[0]);     // how many times longer the second one takes
//
// Two engines are compared by the bursts of the same round: the ratio is the median of the rounds' ratios, and its
// interval that of a median (statistics.h).
//
// Machines are shared: a virtual core may be as fast as the real one for a minute and half as fast for the next, when
// another runs on the same one. That affects all engines, but not equally: one that keeps the multiply-add units busy
// loses more than one that waits. So the machine's own speed is measured before and after every burst, and rounds in
// which it was slow are not counted.
#pragma once

#include <functional>
#include <string>

#include "relay/measure/statistics.h"
#include "relay/tensor/tensor.h"

namespace relay::measure {

struct Engine {
  std::string name;
  // Runs repeatedly for `seconds`, at least once. Returns the time of every run in microseconds.
  std::function<Result<std::vector<double>>(double seconds)> run;
  // Filled in by paired_benchmark():
  std::vector<double> us{};      // time of every run, in microseconds
  std::vector<double> rounds{};  // the median of each round's burst
};

// The speed of the machine at this moment, in any unit.
struct MachineSpeed {
  std::function<double()> now;
  double expected = 0;  // the least speed of a quiet machine; 0: the best of the benchmark
};

struct Rounds {
  size_t counted = 0, left_out = 0;  // left out: rounds in which the machine was slower than `quiet_share` of its best
  bool quiet = true;                 // false if there were too few counted rounds, so that all were counted
  double seconds = 0;                // total duration
};
inline constexpr double quiet_share = 0.85;

// Runs whole rounds until those that count have taken `seconds`, or all have taken half as long again. Each engine is
// warmed up first, without counting.
Result<Rounds> paired_benchmark(std::vector<Engine>& engines, double seconds, const MachineSpeed& speed = {});

struct Ratio {
  double median = 1;
  std::optional<Interval> interval;  // 95 % confidence; unset with fewer than six rounds
};
Ratio time_ratio(const Engine& numerator, const Engine& denominator);

// The error of results, relative to the largest exact value of an output, for the output where it is worst. Infinite if
// shapes differ, or if only one of the two has a NaN or infinity.
struct Difference {
  double rms = 0, largest = 0;
};
Difference difference(const std::vector<Tensor>& got, const std::vector<Tensor>& exact);

}  // namespace relay::measure
