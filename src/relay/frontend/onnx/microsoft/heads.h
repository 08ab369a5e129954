// Attention by heads, shared by several operators of com.microsoft.
#pragma once

#include "relay/frontend/common/ops/heads.h"
#include "relay/frontend/onnx/convert.h"

namespace relay::onnx::microsoft {

struct Attended {
  ir::Expr y, keys, values, weights;
};

// softmax(q k' * scale + the mask's terms and `bias`) v over (N, H, L, D), with keys and values appended to those of
// earlier calls; y is (N, L, H * D). Mask, bias and the values of earlier calls may be null. Null members mean that a
// problem was reported.
Attended attend(Convert& c, const ir::Expr& q, ir::Expr k, ir::Expr v, const ir::Expr& mask, const ir::Expr& bias,
                const ir::Expr& past_keys, const ir::Expr& past_values);

// Softmax over the last axis of scores (N, H, L, keys), with one more score in the sum that belongs to no key: that of
// the head in input 11, else 0 if smooth_softmax is set, else none.
ir::Expr weights_of(Convert& c, const ir::Expr& scores);

// Attention to keys at most attribute `window` away and to those of global tokens, by projections (N, L, 3 * W); global
// tokens attend to all keys, by separate projections. `mask` (N, L) is added to scores. Null if a problem was reported.
ir::Expr longformer(Convert& c, const ir::Expr& local, const ir::Expr& everywhere, const ir::Expr& mask,
                    const ir::Expr& global);

// (N, L, widths of queries, keys and values) by heads; unset if a problem was reported.
std::optional<ir::Exprs> projections(Convert& c, const ir::Expr& all);

}  // namespace relay::onnx::microsoft
