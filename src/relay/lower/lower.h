// Lowers a whole function to kernels: groups and layouts (plan_function), then for each group te -> schedule -> loops.
#pragma once

#include "relay/lower/plan/function.h"
#include "relay/lower/plan/options.h"

namespace relay::lower {

// Fails if a schedule is specified for a group that the program does not have.
Status check_schedules(const std::map<std::string, std::string>& schedules, const std::vector<LoweredFunction>& all);

// `function`: typed, fused (calls of primitive functions only; see transform fuse_ops), first-order, straight-line.
// `names`: the names used by functions of the program that were lowered before; null if it has no others.
Result<LoweredFunction> lower(const ir::FunctionRef& function, const std::string& name, const LowerOptions& options,
                              LowerNames* names = nullptr);

}  // namespace relay::lower
