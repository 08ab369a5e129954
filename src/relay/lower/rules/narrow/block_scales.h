// Scales of blocks of narrow weights, which multiply a part of a long sum instead of each of its terms:
//
//   r[m, n] = sum(k < 768) x[m, k] * (scale[n, k // 32] * float(w[n, k]))
//   becomes
//   r_part[m, n, b] = sum(k < 32) x[m, b * 32 + k] * float(w[n, b * 32 + k])
//   r[m, n] = sum(b < 24) r_part[m, n, b] * scale[n, b]
#pragma once

#include "relay/lower/rules/rules.h"

namespace relay::lower {

// The factors of a product of floats of one type, in order; an element or a sum is its own factor.
Exprs factors_of(const Expr& e);
// True if a variable occurs in `e`.
bool uses(const Expr& e, const Expr& var);
// The c of each axis // c in `e`.
std::set<int64_t> divisors(const Expr& e, const Expr& axis);

// The product that `r` sums, with the stages that are inlined into its constant factor written out, if that has an
// element of a constant as a factor of its own; else null.
Expr scaled_product(const ScheduleDraft& draft, const te::Tensor& r);
// A split of the sum's axes into parts of at most about `terms` terms over which the scales are constant. No split if
// scales vary along several axes, or if blocks do not fill an axis.
SumSplit split_by_scales(const ScheduleDraft& draft, const Expr& product, const std::vector<te::Axis>& axes,
                         int64_t terms);
// Removes the constant factors that are equal for all terms of the part from its body, and returns their product; null
// if none.
Expr take_out_scales(const ScheduleDraft& draft, te::TensorNode& part);

// The number of neighbours along `axis` that are stored in one element of a load: 2 for a[n, k // 2]. The least one if
// they differ; 1 if no load has that form.
int64_t neighbours_in_element(const std::vector<LoadFact>& loads, const te::Axis& axis);

}  // namespace relay::lower
