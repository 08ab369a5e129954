// Comparison of results.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "relay/runtime/functions/value.h"

namespace relay::driver {

// The difference of one result. For integers and booleans `absolute` is the largest difference.
struct Difference {
  std::string output;  // "logits", "output1"
  double absolute = 0;
  double relative = 0;     // relative to the largest absolute value of the reference
  double ulps = 0;         // in units of float32 at the reference's value; for floating-point results
  int64_t elements = 0;    // number that differ beyond the tolerance, or in being NaN or infinite
  std::string other = {};  // the reason why the two cannot be compared: another shape, no tensor
  bool within(double tolerance) const { return other.empty() && elements == 0 && relative <= tolerance; }
};
using Differences = std::vector<Difference>;
bool within(const Differences& all, double tolerance);

// A name for each of `count` results: those that the model gives, and "output" or "output0", ... for others.
std::vector<std::string> result_names(const std::vector<std::string>& names, size_t count);

// Compares results in order, with tuples flattened. An element counts as different if its error exceeds `tolerance`
// times the largest value. `names`: those that the model gives to results.
Differences compare(const runtime::Value& got, const runtime::Value& reference, double tolerance,
                    const std::vector<std::string>& names = {});

}  // namespace relay::driver
