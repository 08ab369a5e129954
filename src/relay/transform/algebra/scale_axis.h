// The shared part of forward_fold_scale_axis and backward_fold_scale_axis: the contractions whose weights can absorb a
// scale along one axis of their data or of their results.
#pragma once

#include <optional>

#include "relay/transform/attributes.h"

namespace relay::transform {

// A side of a contraction: the axis of the data (or of the result), and the corresponding axis of the weights.
struct ScaledSide {
  size_t axis, weight_axis;
  friend bool operator==(const ScaledSide&, const ScaledSide&) = default;
};
// For nn.conv1d, conv2d, conv3d and nn.dense of floats. `before` is typed. Nullopt for other calls, and if the side has
// no separate axis in the weights (data of a grouped convolution that is not depthwise).
std::optional<ScaledSide> scaled_data(const ir::Expr& before);
std::optional<ScaledSide> scaled_result(const ir::Expr& before);

// True if the weights may be multiplied: constant weights, which costs nothing at run time, or any weights with option
// PASS.any_weights=1.
bool weights_fit(const ir::Call& call, bool any_weights);

// True if `scale`, broadcast to the type, varies only along this axis.
bool along(const ir::Constant& scale, const ir::TensorType& type, size_t axis);
// The scale with all its elements along one of `rank` axes.
ir::Expr along_axis(const ir::Constant& scale, size_t rank, size_t axis, const Span& span);
bool all_positive(const ir::Constant& scale);

// The contraction with its weights multiplied by the scale.
ir::Expr with_scaled_weights(const ir::Call& now, const ir::Type& weights, const ir::Constant& scale,
                             const ScaledSide& side, const Span& span);

}  // namespace relay::transform
