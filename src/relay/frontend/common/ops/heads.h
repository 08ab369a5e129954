// Tensors of attention by heads, and the rotation of their elements.
#pragma once

#include "relay/frontend/common/conversion.h"

namespace relay::frontend {

// (N, L, H * D) as (N, H, L, D); tensors of four axes stay. Null if a problem of `what` was reported.
ir::Expr by_heads(Conversion& c, const ir::Expr& e, int64_t heads, const char* what);
// (N, H, L, D) as (N, L, H * D).
ir::Expr joined_heads(Conversion& c, const ir::Expr& e);
// Products of the matrices in the last two axes of (N, H, .., ..); `transposed`: the second one's transposes.
ir::Expr head_products(Conversion& c, const ir::Expr& a, const ir::Expr& b, bool transposed);
// x (N, L, H, D) with the first `rotary_size` elements of each head rotated, in pairs, by the angles whose cosines and
// sines are (.., L, 1, rotary_size / 2). Pairs are neighbours if interleaved, otherwise half of them apart.
ir::Expr rotated(Conversion& c, const ir::Expr& x, const ir::Expr& cos, const ir::Expr& sin, int64_t rotary_size,
                 bool interleaved);

}  // namespace relay::frontend
