// Engines measured in turn on the same inputs, so that whatever else the machine does meets all of them.
//
//   std::vector<Engine> engines{{"relay", run_ours}, {"onnxruntime 1.31.1", run_theirs}};
//   RELAY_ASSIGN(Rounds rounds, paired_benchmark(engines, 10));  // rounds of bursts: forward, backward, forward, ...
//   Ratio ratio = time_ratio(engines[1], engines[0]);     // how much longer the second one takes
//
// Two engines are compared by the bursts of the same round: the ratio is the median of the rounds' ratios, and its
// interval that of a median (statistics.h).
//
// Machines are shared: a virtual core may be as fast as the real one for a minute and half as fast for the next, when
// another runs on the same one. All engines meet that, but not alike: one that keeps the multiply-add units busy loses
// more than one that waits. So the machine's own speed is asked before and after every burst, and rounds in which it
// was slow count for nobody.
#pragma once

#include <functional>
#include <string>

#include "relay/measure/statistics.h"
#include "relay/tensor/tensor.h"

namespace relay::measure {

struct Engine {
  std::string name;
  // Runs again and again for so many seconds, at least once; the time of every run in microseconds.
  std::function<Result<std::vector<double>>(double seconds)> run;
  // Filled in by paired_benchmark():
  std::vector<double> us{};      // of every run
  std::vector<double> rounds{};  // the median of each round's burst
};

// How fast the machine is at this moment; the unit is the caller's.
struct MachineSpeed {
  std::function<double()> now;
  double expected = 0;  // at least this when it is quiet; 0: what it was at best in the benchmark
};

struct Rounds {
  size_t counted = 0, left_out = 0;  // left out: the machine was slower than `quiet_share` of its best then
  bool quiet = true;                 // else there were not enough of those, and all were counted
  double seconds = 0;                // that all of them took
};
inline constexpr double quiet_share = 0.85;

// Whole rounds until `seconds` of those that count are over, or half as long again. Each engine is warmed up first,
// which is not counted.
Result<Rounds> paired_benchmark(std::vector<Engine>& engines, double seconds, const MachineSpeed& speed = {});

struct Ratio {
  double median = 1;
  std::optional<Interval> interval;  // of 95 % confidence; none with fewer than six rounds
};
Ratio time_ratio(const Engine& numerator, const Engine& denominator);

// How far results lie from others, in parts of the largest of those: of the output where it is worst. Infinite where
// shapes differ, or where one has a NaN or infinity that the other has not.
struct Difference {
  double rms = 0, largest = 0;
};
Difference difference(const std::vector<Tensor>& got, const std::vector<Tensor>& exact);

}  // namespace relay::measure
