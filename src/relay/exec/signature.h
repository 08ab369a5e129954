// What @main takes and gives, for a program with functions: types as text, and the shapes of tensors, which are checked
// when a run begins.
#pragma once

#include "relay/ir/expr.h"
#include "relay/op/conditions.h"
#include "relay/runtime/program/program.h"

namespace relay::exec {

// `output_names`: of the results, the fields of a tuple one by one; those that have none get names.
// `types`: those of the program, by number.
// `conditions`: what is checked of the sizes of its parameters.
Result<runtime::Signature> signature(const ir::FunctionRef& main, const std::vector<std::string>& output_names,
                                     const std::vector<runtime::DataType>& types,
                                     const std::vector<op::Condition>& conditions);

}  // namespace relay::exec
