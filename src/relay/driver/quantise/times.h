// Times of layers and programs, measured on this machine.
#pragma once

#include <map>

#include "relay/driver/quantise/runs.h"
#include "relay/measure/statistics.h"

namespace relay::driver {

// Microseconds of a run's kernels by layer. A kernel of several layers counts for each in equal parts. Places of nodes
// in the program are names of layers.
struct LayerTimes {
  std::map<std::string, double> us;
  std::vector<std::vector<std::string>> kernels;  // the layers of each kernel
};
Result<LayerTimes> layer_times(const Compiled& program, const Sample& inputs, double seconds);
// The times of two programs, measured in turn. Other work on the machine only adds to times, so that the least of each
// layer counts.
struct TwoTimes {
  LayerTimes first, second;
};
Result<TwoTimes> layer_times(const Compiled& first, const Compiled& second, const Sample& inputs, double seconds);

// Layers that share kernels in one of two programs, directly or through others, and must be compared together.
std::vector<std::vector<std::string>> comparable_groups(const LayerTimes& first, const LayerTimes& second);
// The sum of the layers that have a time; 0 if none has.
double sum_of(const std::vector<std::string>& layers, const LayerTimes& times);

// Two programs run in turn on the same inputs.
struct Comparison {
  double first_us = 0, second_us = 0;  // medians
  double speedup = 1;                  // of the second over the first
  std::optional<measure::Interval> interval{};
};
Result<Comparison> compare_times(runtime::Executable& first, runtime::Executable& second, const Sample& inputs,
                                 double seconds);

}  // namespace relay::driver
