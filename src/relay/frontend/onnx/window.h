// The window geometry of convolutions and pools: extents, steps and paddings of a window that moves over the last axes.
#pragma once

#include "relay/frontend/common/ops/matrix_product.h"
#include "relay/frontend/common/ops/window.h"
#include "relay/frontend/onnx/convert.h"

namespace relay::onnx {

// Reads strides, dilations, pads and auto_pad for a window of `kernel` over x (N, C, ...). Unset if a problem was
// reported. `padded` and `value` are those of pad_to_same.
std::optional<Window> read_window(Convert& c, const ir::Expr& x, ir::Ints kernel, ir::Expr* padded = nullptr,
                                  double value = 0);

// A line (N, C, W) as an image of one row, and back: reshape codes for unknown sizes.
inline const ir::Ints one_row{0, 0, -4, 1, -1}, no_row{0, 0, -3};

// A convolution of x by weight with the node's attributes; null if a problem was reported.
ir::Expr convolution(Convert& c, const ir::Expr& x, const ir::Expr& weight, const frontend::EmitAttrs& more);
// The same for integers minus their zero points (null: 0), int32; the weight has one, or one for each output. Bytes of
// images are multiplied as they are.
ir::Expr integer_convolution(Convert& c, const ir::Expr& x, const ir::Expr& x_zero, const ir::Expr& weight,
                             const ir::Expr& weight_zero);
// The average over each window of the node's attributes; empty if a problem was reported.
Values average_pool(Convert& c, const ir::Expr& x);

}  // namespace relay::onnx
