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

// Compares results in order, with tuples flattened. An element counts as different if its error exceeds `tolerance`
// times the largest value.
Differences compare(const runtime::Value& got, const runtime::Value& reference, double tolerance);

}  // namespace relay::driver
