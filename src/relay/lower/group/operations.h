// What computing an element takes on a machine, in additions of such elements: a multiply-add is two operations.
#pragma once

#include "relay/base/target_desc.h"
#include "relay/te/te.h"

namespace relay::lower {

// Of a choice between several, the dearest: only one is evaluated. Divisions and roots count as the machine's
// description says, functions as their polynomials do, with their choices and arithmetic on integers, which take the
// same ports; how many of a polynomial's operations a machine does at a time, exp tells for all.
//
//   a[i] * b[i] + 1                2
//   a[i] / b[i]                    12   on Zen 4: six cycles, in which it does six multiply-adds; of doubles 18: nine
//   select(c, exp(a[i]), 0)        those of exp
double count_operations(const scalar::Expr& body, const TargetDesc& target);
// Of stages, of which so many `elements` are computed each.
double count_operations(const te::Tensors& stages, const TargetDesc& target,
                        function_ref<double(const te::TensorNode&)> elements);

}  // namespace relay::lower
