// The padding of windows that fit ceil(size / stride) times into an axis: SAME of TensorFlow, auto_pad of ONNX.
#pragma once

#include "relay/frontend/common/conversion.h"

namespace relay::frontend {

// The number of elements before and after the axis together, for windows that reach over `taps` elements. Unset if it
// depends on a size that is not a number.
std::optional<int64_t> same_padding(Conversion& c, const ir::Expr& x, int64_t axis, int64_t taps, int64_t stride);
// x with that much of `value` around an axis of any size; an odd element comes after the data, or before it.
ir::Expr padded_to_same(Conversion& c, const ir::Expr& x, int64_t axis, int64_t taps, int64_t stride,
                        bool more_in_front, double value);

}  // namespace relay::frontend
