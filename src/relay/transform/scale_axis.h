// What forward_fold_scale_axis and backward_fold_scale_axis share: the contractions whose weights can take a scale
// along one axis of their data or of their results.
#pragma once

#include <optional>

#include "relay/transform/attributes.h"

namespace relay::transform {

// One side of a contraction: the axis of the data (or of the result), and the axis of the weights that it meets.
struct ScaledSide {
  size_t axis, weight_axis;
  friend bool operator==(const ScaledSide&, const ScaledSide&) = default;
};
// nn.conv1d, conv2d, conv3d and nn.dense of floats. `before` is typed. Nothing: it is no such call, or the side has no
// axis of its own in the weights (data of a convolution in groups that is not depthwise).
std::optional<ScaledSide> scaled_data(const ir::Expr& before);
std::optional<ScaledSide> scaled_result(const ir::Expr& before);

// Whether the weights may be multiplied: those made of constants, which costs nothing when the program runs; or any, as
// option PASS.any_weights=1 says.
bool weights_fit(const ir::Call& call, bool any_weights);

// Whether `scale`, broadcast to the type, changes along this axis only.
bool along(const ir::Constant& scale, const ir::TensorType& type, size_t axis);
// The scale with all its elements along one of `rank` axes.
ir::Expr along_axis(const ir::Constant& scale, size_t rank, size_t axis, const Span& span);
bool all_positive(const ir::Constant& scale);

// The contraction with its weights multiplied by the scale.
ir::Expr with_scaled_weights(const ir::Call& now, const ir::Type& weights, const ir::Constant& scale,
                             const ScaledSide& side, const Span& span);

}  // namespace relay::transform
