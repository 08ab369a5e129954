// Two results beside each other.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "relay/runtime/value.h"

namespace relay::driver {

// Of one result. Of integers and booleans `absolute` is the largest difference.
struct Difference {
  std::string output;  // "logits", "output1"
  double absolute = 0;
  double relative = 0;     // of the largest absolute value of the reference
  double ulps = 0;         // of float32 at the reference's value; of results in floating point
  int64_t elements = 0;    // that differ beyond the tolerance, in not being a number, or in an infinity
  std::string other = {};  // why the two cannot be compared: another shape, no tensor
  bool within(double tolerance) const { return other.empty() && elements == 0 && relative <= tolerance; }
};
using Differences = std::vector<Difference>;
bool within(const Differences& all, double tolerance);

// Results in order, tuples spread out. An element counts as different where it is off by more than `tolerance` of the
// largest value.
Differences compare(const runtime::Value& got, const runtime::Value& reference, double tolerance);

}  // namespace relay::driver
