// Reads a tensor under another shape with the same number of elements in the same row-major order.
#pragma once

#include "relay/op/common.h"

namespace relay::op::shape {

// The indices at which data of shape `from` is read for the element at `i` of shape `to`. Runs of axes with equal
// products are matched first, so that an axis that only moves, or a unit axis that is added or removed, keeps its plain
// index. Splitting an axis yields an affine index; only merging needs division.
Exprs reshaped_indices(const Exprs& from, const Exprs& to, const Exprs& i);
te::Tensor reshaped(const char* name, const te::Tensor& data, const Exprs& to);

}  // namespace relay::op::shape
