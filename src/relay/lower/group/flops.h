// The operations of groups and kernels. A multiply-add counts as two; exp and similar functions count as their
// polynomials.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "relay/lower/schedule/schedule.h"
#include "relay/machine/target_desc.h"
#include "relay/te/te.h"

namespace relay::lower {

// The operations of a stage with symbolic sizes: `each` times a product of extents over shape variables.
struct SymbolicFlops {
  double each = 0;
  Expr times;
};

struct KernelFlops {
  double known = 0;                       // of stages with constant sizes
  std::vector<SymbolicFlops> symbolic{};  // of the others
};

// The operations of each kernel of a scheduled group, by its root stage: its own, and those of the stages inside it.
std::map<std::string, KernelFlops> kernel_flops(const te::Tensors& stages, const Schedule& schedule,
                                                const TargetDesc& target);

// The operations of the stages of a group with constant sizes, before it is scheduled.
double known_flops(const te::Tensors& outputs, const TargetDesc& target);

}  // namespace relay::lower
