// How fast kernels divide, take roots and compute exp on this machine: they are compiled, as those of a model are.
#pragma once

#include <optional>

#include "relay/base/target_desc.h"

namespace relay::measure {

// Results a nanosecond, float32, of one core; arguments and results lie in L1.
struct OperationSpeeds {
  double divisions = 0, roots = 0, exps = 0;
};
// Nothing where kernels for `target` do not run on this machine.
std::optional<OperationSpeeds> measure_operations(const TargetDesc& target);
OperationSpeeds described_operations(const TargetDesc& target);

}  // namespace relay::measure
