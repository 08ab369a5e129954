// Helpers of several families of com.microsoft.
#pragma once

#include "relay/frontend/onnx/convert.h"

namespace relay::onnx::microsoft {

// Data (N, .., C) as (N, C, ..), and back.
ir::Expr channels_first(Convert& c, const ir::Expr& e);
ir::Expr channels_last(Convert& c, const ir::Expr& e);
// Bytes (.., n) that hold values of `bits` bits, the lowest first, as (.., n * 8 / bits) of uint8.
ir::Expr unpacked(Convert& c, const ir::Expr& bytes, int64_t bits);
// Applies the curve named by attribute `activation` to e; returns e if absent.
ir::Expr activated(Convert& c, const ir::Expr& e);
// (A - its zero point) (B - its zero point) times both scales, plus a bias; zero points and bias may be null.
ir::Expr real_product(Convert& c, const ir::Expr& a, const ir::Expr& a_zero, const ir::Expr& a_scale, const ir::Expr& b,
                      const ir::Expr& b_zero, const ir::Expr& b_scale, const ir::Expr& bias);

}  // namespace relay::onnx::microsoft
