// The geometry of windows over images in the order (N, H, W, C), and the layouts that operators pass on.
#pragma once

#include "relay/frontend/tflite/convert.h"

namespace relay::tflite {

struct Window {
  ir::Ints kernel, strides, dilations;  // (H, W)
  ir::Ints padding;                     // (top, left, bottom, right)
};

// The window of `kernel` elements over x by the options padding, stride_h, stride_w, and the dilations if the options
// have them. Padding that depends on an open size of x is added to x, with this value. Unset if a problem was reported.
std::optional<Window> read_window(Convert& c, ir::Expr& x, ir::Ints kernel, double value);

}  // namespace relay::tflite
