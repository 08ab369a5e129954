// The geometry of windows over images in the order (N, H, W, C), and the layouts that operators pass on.
#pragma once

#include "relay/frontend/common/ops/window.h"
#include "relay/frontend/tflite/convert.h"

namespace relay::tflite {

// The window of `kernel` elements over the axes of x after the first, which are called `axes` in the options: "hw",
// "dhw". Reads the options padding, stride_h, dilation_h_factor and so on. Padding that depends on an open size of x is
// added to x, with this value. Unset if a problem was reported.
std::optional<Window> read_window(Convert& c, ir::Expr& x, ir::Ints kernel, double value, std::string_view axes = "hw");

}  // namespace relay::tflite
