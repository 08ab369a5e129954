// Names of axes, which schedules and texts use.
//
//   conv2d[n, o, y, x] = sum(c < 64, ky < 3, kx < 3) padded[n, c, y + ky, x + kx] * weight[o, c, ky, kx]
//
// An operator may name its axes. Unnamed axes are i0, i1, ... and reduction axes k0, k1, ..., until
// propagate_axis_names() copies the names of the stages that they are computed with.
#pragma once

#include "relay/te/te.h"

namespace relay::te {

// The stage with these names, separated by spaces: one per axis, and one per reduction axis. An empty text leaves the
// axes unchanged. The body of a reduction, if it is a reduction over fewer axes, takes fewer names.
Tensor named_axes(const Tensor& stage, const std::string& axes, const std::string& reduce_axes = "");

// `outputs`, in which unnamed axes take the names of stages that their own stage reads, or that read it: if an element
// [i0, i1] is computed from conv2d[i0, i1], i0 and i1 are conv2d's axes. Programs stay unchanged.
Tensors propagate_axis_names(const Tensors& outputs);

}  // namespace relay::te
