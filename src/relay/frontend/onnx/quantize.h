// Integers that stand for reals, as converters share them: real = (integer - zero point) * scale.
#pragma once

#include "relay/frontend/onnx/convert.h"

namespace relay::onnx {

// Scales and zero points of one value, or of one a place along `axis` of x.
ir::Expr along_axis(Convert& c, const ir::Expr& e, const ir::Expr& x, int64_t axis);
// An integer with its zero point (null: 0) taken away, as int32.
ir::Expr centred(Convert& c, const ir::Expr& e, const ir::Expr& zero, int64_t axis);
// A real as integers of the type of `zero`: rounded to even, saturated.
ir::Expr quantised(Convert& c, const ir::Expr& real, const ir::Expr& scale, const ir::Expr& zero);
// What a real is as uint8, with the scale and zero point that its own range gives.
struct DynamicallyQuantised {
  ir::Expr values, scale, zero;
};
DynamicallyQuantised dynamically_quantised(Convert& c, const ir::Expr& x);

}  // namespace relay::onnx
