// Batching of a group for many calls at once: each array that depends on values that vary between calls has a row for
// each call.
//
//   dense[i0, i1] = sum(k0 < 300) data[i0, k0] * weight[i1, k0]    : float32[1, 600]; data differs from call to call
//   dense[i0, i1] = sum(k0 < 300) data[i0, k0] * weight[i1, k0]    : float32[calls, 600]
//
// If the first dimension has one element, calls take its place (Rows::First): a row of a matrix becomes a matrix, which
// the schedule rules know. Other arrays get one more dimension in front (Rows::Added). Either way the elements of a
// call are contiguous, in the order of an array of their own. This happens on stages and is independent of operators.
#pragma once

#include "relay/lower/group/group.h"
#include "relay/lower/plan/function.h"

namespace relay::lower {

// The way that an array of this shape gets rows, and its shape with them.
Rows rows_for(const Exprs& shape);
Exprs with_rows(const Exprs& shape, const Expr& calls);

// `varies`: one flag per parameter of the group. Replaces the varying parameters and everything that depends on them.
// Returns a flag per output.
std::vector<bool> batch(GroupTe& group, const std::vector<bool>& varies, const Expr& calls);

}  // namespace relay::lower
