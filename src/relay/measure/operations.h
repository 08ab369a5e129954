// How fast kernels divide, take roots and compute exp on this machine: they are compiled, as those of a model are.
#pragma once

#include <optional>

#include "relay/base/target_desc.h"

namespace relay::measure {

// Results a nanosecond, of one core; arguments and results lie in L1.
struct OperationSpeeds {
  double divisions = 0, roots = 0, exps = 0;
};
struct Speeds {
  OperationSpeeds float32, float64;
};
// Nothing where kernels for `target` do not run on this machine.
std::optional<Speeds> measure_operations(const TargetDesc& target);
Speeds described_operations(const TargetDesc& target);

}  // namespace relay::measure
