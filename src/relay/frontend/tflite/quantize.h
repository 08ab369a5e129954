// Integers that stand for reals, real = scale * (integer - zero point): operators in integers, rounded as LiteRT's
// reference kernels do (its BUILTIN_REF resolver).
//
// A factor is a 31-bit integer and a power of two. LiteRT's kernels round the product with the integer and then the
// quotient by the power, except for FULLY_CONNECTED, which rounds once. A fused activation clips the result in the
// integers of the output.
#pragma once

#include "relay/frontend/tflite/convert.h"

namespace relay::tflite {

// The range of integers of a type of at most 32 bits.
std::pair<int64_t, int64_t> range_of(DType dtype);
// The single scale and zero point of a tensor; unset, reported, if it has several or none.
struct Scale {
  float scale;
  int64_t zero;
  DType dtype;
};
std::optional<Scale> scale_of(Convert& c, const TensorEntry& entry);

// Input i, a weight: quantised with real data (hybrid), it is dequantised; otherwise as it is.
ir::Expr real_weight(Convert& c, size_t i, int64_t channel_axis);
// A sum of products of input 0 and a weight by a qnn operator, with the bias in input 2, requantised to the output.
Values quantized_product(Convert& c, const char* op, const ir::Expr& x, const ir::Expr& weight, const EmitAttrs& attrs,
                         int64_t channel_axis);
// add, subtract, multiply of inputs 0 and 1.
Values quantized_binary(Convert& c, const char* op);
// A comparison of inputs 0 and 1, whose scales may differ.
ir::Expr quantized_comparison(Convert& c, const char* op);
// Input 0, times `slope` where it is below 0. With `alpha`, integers without their zero point, `slope` is their scale.
ir::Expr quantized_leaky(Convert& c, float slope, const ir::Expr& alpha = {});
// Integers of the output, clipped by the fused activation.
ir::Expr quantized_activation(Convert& c, const ir::Expr& e);
// Input 0 at the scale of the output, clipped to reals.
ir::Expr quantized_clip(Convert& c, double low, double high);
// A function of input 0, computed at import for each of its values.
ir::Expr quantized_function(Convert& c, function_ref<float(float)> f);
// The mean over windows, rounded away from zero at halves.
ir::Expr quantized_mean_pool(Convert& c, const ir::Expr& x, EmitAttrs attrs);
// Means of x along axes, with the option keep_dims.
ir::Expr quantized_mean(Convert& c, const ir::Expr& x, const ir::Ints& axes);
ir::Expr quantized_softmax(Convert& c, double beta);
// x, with the quantisation `from`, as integers of `to`.
ir::Expr requantized(Convert& c, const ir::Expr& x, const TensorEntry& from, const TensorEntry& to);
ir::Expr rescaled(Convert& c, const ir::Expr& x, const TensorEntry& from, const TensorEntry& to);

}  // namespace relay::tflite
