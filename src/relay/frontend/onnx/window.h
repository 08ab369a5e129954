// The geometry that convolutions and pools share: extents, steps and paddings of a window that moves over the last
// axes.
#pragma once

#include "relay/frontend/onnx/convert.h"

namespace relay::onnx {

struct Window {
  ir::Ints kernel, strides, dilations;
  ir::Ints pads;  // before every axis, then after every axis: the order of ONNX and of Relay
};

// Reads strides, dilations, pads and auto_pad for a window of `kernel` over x (N, C, ...). Nothing: reported. What
// auto_pad asks for may depend on a size that has a name only: then `padded` becomes x with that much of `value` around
// it, and the window has no pads there; without `padded` it is reported.
std::optional<Window> read_window(Convert& c, const ir::Expr& x, ir::Ints kernel, ir::Expr* padded = nullptr,
                                  double value = 0);

// A line (N, C, W) as a picture of one row, and back: codes of reshape, for sizes that nobody knows.
inline const ir::Ints one_row{0, 0, -4, 1, -1}, no_row{0, 0, -3};

// A convolution of x by weight with the node's attributes; null: reported.
ir::Expr convolution(Convert& c, const ir::Expr& x, const ir::Expr& weight, const frontend::EmitAttrs& more);
// The average of each window that the node's attributes say; empty: reported.
Values average_pool(Convert& c, const ir::Expr& x);
// The product of matrices in the last two axes, the other axes stretched to each other as in numpy.
ir::Expr matrix_product(Convert& c, ir::Expr a, ir::Expr b);

}  // namespace relay::onnx
