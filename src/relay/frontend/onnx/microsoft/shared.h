// What several families of com.microsoft share.
#pragma once

#include "relay/frontend/onnx/convert.h"

namespace relay::onnx::microsoft {

// Data (N, .., C) as (N, C, ..), and back.
ir::Expr channels_first(Convert& c, const ir::Expr& e);
ir::Expr channels_last(Convert& c, const ir::Expr& e);
// Bytes (.., n) of values of `bits` bits, the lowest first, as (.., n * 8 / bits) of uint8.
ir::Expr unpacked(Convert& c, const ir::Expr& bytes, int64_t bits);
// The curve that attribute `activation` names, over e; without one, e.
ir::Expr activated(Convert& c, const ir::Expr& e);
// (A - its zero) (B - its zero) times both scales, plus a bias; zeros and bias may be null.
ir::Expr real_product(Convert& c, const ir::Expr& a, const ir::Expr& a_zero, const ir::Expr& a_scale, const ir::Expr& b,
                      const ir::Expr& b_zero, const ir::Expr& b_scale, const ir::Expr& bias);

}  // namespace relay::onnx::microsoft
