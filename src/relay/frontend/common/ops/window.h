// The geometry of convolutions and pools: extents, steps and padding of a window that moves over neighbouring axes.
#pragma once

#include "relay/frontend/common/conversion.h"

namespace relay::frontend {

struct Window {
  ir::Ints kernel, strides, dilations;
  ir::Ints pads;  // before every axis, then after every axis
};

// True if every extent, stride and distance is positive and below 2^31; else reported.
bool expect_window(Conversion& c, const Window& w);
// Pads the window for ceil(size / stride) results along the axes of x from `first` on. An odd element is in front if
// `more_in_front`, else behind. The amount may depend on a size that has only a name: then `padded` becomes x with that
// much of `value` around it, and the window has no pads there. False if a problem was reported, also if that happens
// and `padded` is null.
bool pad_to_same(Conversion& c, const ir::Expr& x, int64_t first, bool more_in_front, Window& w, ir::Expr* padded,
                 double value);

}  // namespace relay::frontend
