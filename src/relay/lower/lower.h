// A whole function to kernels: groups and layouts (plan_graph), then for each group te -> schedule -> loops.
#pragma once

#include "relay/lower/plan/function.h"
#include "relay/lower/plan/options.h"

namespace relay::lower {

// A schedule is given for a group that the program does not have: a diagnostic.
Status check_schedules(const std::map<std::string, std::string>& schedules, const std::vector<LoweredFunction>& all);

// `function`: typed, fused (calls of primitive functions only; see transform fuse_ops), first-order, straight-line.
Result<LoweredFunction> lower(const ir::FunctionRef& function, const std::string& name, const LowerOptions& options);

}  // namespace relay::lower
