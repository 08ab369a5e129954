// A group for many calls at once: each array that depends on what varies between calls has a row for each call.
//
//   dense[i0, i1] = sum(k0 < 300) data[i0, k0] * weight[i1, k0]    : float32[1, 600]; data differs from call to call
//   dense[i0, i1] = sum(k0 < 300) data[i0, k0] * weight[i1, k0]    : float32[calls, 600]
//
// Where the first dimension has one element, calls take its place (Rows::First): so a row of a matrix becomes a matrix,
// and the schedule rules see what they know. Other arrays get one more dimension in front (Rows::Added). Either way the
// elements of a call lie together, in the order that they have in an array of their own. It is done on stages:
// operators do not know of it.
#pragma once

#include "relay/lower/group/group.h"
#include "relay/lower/plan/function.h"

namespace relay::lower {

// How an array of this shape gets rows, and its shape then.
Rows rows_for(const Exprs& shape);
Exprs with_rows(const Exprs& shape, const Expr& calls);

// `varies`: of each parameter of the group. Replaces those and what depends on them; says which outputs do.
std::vector<bool> batch(GroupTe& group, const std::vector<bool>& varies, const Expr& calls);

}  // namespace relay::lower
