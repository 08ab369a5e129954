// The cost of computing an element on a machine, in additions of such elements. A multiply-add is two operations.
#pragma once

#include "relay/machine/target_desc.h"
#include "relay/te/te.h"

namespace relay::lower {

// A select costs its most expensive branch, since only one is evaluated. Divisions and roots count as the machine's
// description says, functions count as their polynomials, with their selects and integer arithmetic, which use the same
// ports. The number of a polynomial's operations that a machine does at a time is taken from exp for all functions.
//
//   a[i] * b[i] + 1                2
//   a[i] / b[i]                    12   on Zen 4: six cycles, in which it does six multiply-adds; of doubles 18: nine
//   select(c, exp(a[i]), 0)        those of exp
double count_operations(const scalar::Expr& body, const TargetDesc& target);
// The operations of stages, each with elements(stage) elements.
double count_operations(const te::Tensors& stages, const TargetDesc& target,
                        function_ref<double(const te::TensorNode&)> elements);

}  // namespace relay::lower
