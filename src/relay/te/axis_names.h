// Names of axes, by which schedules and texts speak of them.
//
//   conv2d[n, o, y, x] = sum(c < 64, ky < 3, kx < 3) padded[n, c, y + ky, x + kx] * weight[o, c, ky, kx]
//
// An operator that knows what its axes mean says so. The others' axes are i0, i1, ... and, of a reduction, k0, k1, ...
// until propagate_axis_names() gives them the names of what they are computed with.
#pragma once

#include "relay/te/te.h"

namespace relay::te {

// The stage with these names, separated by spaces: one an axis, and one a reduction axis. An empty text leaves the axes
// as they are. A reduction over fewer axes, which is its body, takes fewer.
Tensor named_axes(const Tensor& stage, const std::string& axes, const std::string& reduce_axes = "");

// `outputs`, in which axes without a name of their own have names of the stages that their own reads, or that read it:
// where an element [i0, i1] is computed of conv2d[i0, i1], i0 and i1 are conv2d's axes. Programs stay as they are.
Tensors propagate_axis_names(const Tensors& outputs);

}  // namespace relay::te
