// Parameters and results of @main, for a program with functions: types as text, and the shapes of tensors, which are
// checked at the beginning of a run.
#pragma once

#include "relay/ir/expr.h"
#include "relay/op/conditions.h"
#include "relay/runtime/program/program.h"

namespace relay::exec {

// `output_names`: names of the results, with tuples flattened; unnamed ones get names. `types`: the data types of the
// program, by number. `conditions`: constraints on the sizes of its parameters.
Result<runtime::Signature> signature(const ir::FunctionRef& main, const std::vector<std::string>& output_names,
                                     const std::vector<runtime::DataType>& types,
                                     const std::vector<op::Condition>& conditions);

}  // namespace relay::exec
