// Attention by heads, as several operators of com.microsoft have it.
#pragma once

#include "relay/frontend/onnx/heads.h"

namespace relay::onnx::microsoft {

struct Attended {
  ir::Expr y, keys, values, weights;
};

// softmax(q k' * scale + what the mask and `bias` add) v over (N, H, L, D), keys and values behind those of earlier
// calls; y is (N, L, H * D). Mask, bias and what is of earlier calls may be null. Null members: reported.
Attended attend(Convert& c, const ir::Expr& q, ir::Expr k, ir::Expr v, const ir::Expr& mask, const ir::Expr& bias,
                const ir::Expr& past_keys, const ir::Expr& past_values);

// Softmax over the last axis of scores (N, H, L, keys), with one more score in the sum, which belongs to no key: that
// of the head in input 11, else 0 where smooth_softmax says so, else none.
ir::Expr weights_of(Convert& c, const ir::Expr& scores);

// Attention to keys at most attribute `window` away and to those of global tokens, of projections (N, L, 3 * W); those
// of global tokens to all, of projections of their own. `mask` (N, L) is added to scores; null: reported.
ir::Expr longformer(Convert& c, const ir::Expr& local, const ir::Expr& everywhere, const ir::Expr& mask,
                    const ir::Expr& global);

// (N, L, widths of queries, keys and values) by heads; nothing: reported.
std::optional<ir::Exprs> projections(Convert& c, const ir::Expr& all);

}  // namespace relay::onnx::microsoft
