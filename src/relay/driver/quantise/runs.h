// Runs of a program on samples, and the distance of their results.
#pragma once

#include <span>

#include "relay/driver/compile.h"
#include "relay/runtime/functions/value.h"

namespace relay::driver {

using Sample = std::vector<runtime::Value>;  // the inputs of @main
using Samples = std::vector<Sample>;

// The results of each sample: its tensors, those of tuples and data values in order.
using Results = std::vector<std::vector<Tensor>>;
Result<Results> results_of(runtime::Executable& executable, std::span<const Sample> samples);

// The distance of results from others.
struct ResultError {
  double floats = 0;  // of float results: the root of the mean squared difference, relative to that of the values
  double others = 0;  // the share of other elements that differ
  int64_t different_shapes = 0;  // samples whose results cannot be compared
  double worst() const { return different_shapes > 0 ? 1 : std::max(floats, others); }
};
ResultError result_error(const Results& got, const Results& wanted);

// The share of samples for which the largest element along the last axis of the first result has the index of the
// label. A sample may contain several labels.
double accuracy(const Results& results, const std::vector<Tensor>& labels);

}  // namespace relay::driver
