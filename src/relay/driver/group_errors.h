// The error of each group of a compiled program, for the explorer.
//
//   RELAY_ASSIGN(GroupErrors errors, group_errors(compiled, inputs, options));
//   if (errors[segment][group]) errors[segment][group]->relative
//
// A second program returns the value of every group of @main. It is compiled with the same options, run, and compared
// with the evaluator in double precision. The rounding of the groups before is part of a value's error.
#pragma once

#include <optional>
#include <vector>

#include "relay/driver/compile.h"
#include "relay/driver/differences.h"

namespace relay::driver {

// By segment and group of Compiled::lowered, the largest difference of its values. Unset for groups inside of branches
// and functions, for those that only copy or prepare data, and for those whose calls have no place in the model.
using GroupErrors = std::vector<std::vector<std::optional<Difference>>>;

// `inputs`: of @main. `options`: those of the compilation.
Result<GroupErrors> group_errors(const Compiled& compiled, const std::vector<runtime::Value>& inputs,
                                 const Options& options);

}  // namespace relay::driver
