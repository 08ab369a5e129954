// Measures how fast kernels divide, take roots and compute exp on this machine. The kernels are compiled like those of
// a model.
#pragma once

#include <optional>

#include "relay/machine/target_desc.h"

namespace relay::measure {

// Results per nanosecond on one core; arguments and results are in L1.
struct OperationSpeeds {
  double divisions = 0, roots = 0, exps = 0;
};
struct Speeds {
  OperationSpeeds float32, float64;
};
// Unset if kernels for `target` do not run on this machine.
std::optional<Speeds> measure_operations(const TargetDesc& target);
Speeds described_operations(const TargetDesc& target);

}  // namespace relay::measure
