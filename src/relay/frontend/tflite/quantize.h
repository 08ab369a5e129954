// Integers that stand for reals, real = scale * (integer - zero point): operators in integers, rounded as LiteRT's
// reference kernels do (its BUILTIN_REF resolver).
//
// A factor is a 31-bit integer and a power of two. LiteRT's kernels round the product with the integer and then the
// quotient by the power, except for FULLY_CONNECTED, which rounds once. A fused activation clips the result in the
// integers of the output.
#pragma once

#include "relay/frontend/common/ops/quantise.h"
#include "relay/frontend/tflite/convert.h"

namespace relay::tflite {

// The single scale and zero point of a tensor; unset, reported, if it has several or none.
struct Scale {
  float scale;
  int64_t zero;
  DType dtype;
};
std::optional<Scale> scale_of(Convert& c, const TensorEntry& entry);

// x, rounded to the nearest integer, halves away from zero.
ir::Expr rounded(Convert& c, const ir::Expr& x);
// Integers of a tensor as reals.
ir::Expr dequantized(Convert& c, const ir::Expr& x, const TensorEntry& entry);
// Input i, a weight: quantised with real data (hybrid), it is dequantised; otherwise as it is.
ir::Expr real_weight(Convert& c, size_t i, int64_t channel_axis);
// The inputs of a sum of products.
struct Factors {
  size_t data = 0, weight = 1, bias = 2;
};
// A sum of products of data and a weight by a qnn operator: in int32, or in int64 for data of 16 bits.
ir::Expr quantized_sum(Convert& c, const char* op, const ir::Expr& x, const ir::Expr& weight, const EmitAttrs& attrs,
                       int64_t channel_axis, const Factors& factors = {});
// Such a sum plus the bias, in the integers of the output.
Values quantized_result(Convert& c, ir::Expr sum, const Factors& factors = {});
// Both.
Values quantized_product(Convert& c, const char* op, const ir::Expr& x, const ir::Expr& weight, const EmitAttrs& attrs,
                         int64_t channel_axis);
// add, subtract, multiply of inputs 0 and 1.
Values quantized_binary(Convert& c, const char* op);
// The squares of the differences of inputs 0 and 1.
ir::Expr quantized_squared_difference(Convert& c);
// The quotient of inputs 0 and 1, which are bytes. Divided by 0, it is the greatest number, or the least if the
// dividend is below 0.
ir::Expr quantized_quotient(Convert& c);
// A comparison of inputs 0 and 1, whose scales may differ.
ir::Expr quantized_comparison(Convert& c, const char* op);
// Input 0, times `slope` where it is below 0. With `alpha`, integers without their zero point, `slope` is their scale.
ir::Expr quantized_leaky(Convert& c, float slope, const ir::Expr& alpha = {});
// Integers of the output, clipped by the fused activation.
ir::Expr quantized_activation(Convert& c, const ir::Expr& e);
// Input 0 at the scale of the output, clipped to reals.
ir::Expr quantized_clip(Convert& c, double low, double high);
// A function of input 0, computed at import for each of its values. Between the 513 values of int16 for which LiteRT
// computes it, it is a line.
ir::Expr quantized_function(Convert& c, function_ref<float(float)> f);
// A function of input 0 on its integers, without the zero point of data of 8 bits, for each of their values; the result
// has the zero point added, and is cut to the output's range.
ir::Expr quantized_table(Convert& c, function_ref<int64_t(int64_t)> f);
// Sigmoid and tanh of int16, whose results are in units of 2^-15.
ir::Expr quantized_sigmoid(Convert& c, bool tanh);
ir::Expr quantized_hard_swish(Convert& c);
ir::Expr quantized_abs(Convert& c);
ir::Expr quantized_log(Convert& c);    // the least integer for data that has no logarithm
ir::Expr quantized_rsqrt(Convert& c);  // the greatest integer for data that has no root, or is 0
// The product of matrices a and b, which are inputs 0 and 1, maybe transposed.
ir::Expr quantized_matrix_product(Convert& c, const ir::Expr& a, const ir::Expr& b);
// The mean over windows, rounded away from zero at halves.
ir::Expr quantized_mean_pool(Convert& c, const ir::Expr& x, EmitAttrs attrs);
// Means, sums and products of x along axes, with the option keep_dims.
ir::Expr quantized_mean(Convert& c, const ir::Expr& x, const ir::Ints& axes);
ir::Expr quantized_total(Convert& c, const ir::Expr& x, const ir::Ints& axes);
ir::Expr quantized_prod(Convert& c, const ir::Expr& x, const ir::Ints& axes);
ir::Expr quantized_softmax(Convert& c, double beta);
ir::Expr quantized_log_softmax(Convert& c);
ir::Expr quantized_l2_normalize(Convert& c);     // along the last axis
ir::Expr wide_softmax(Convert& c, double beta);  // of int16
// The parts of SVDF: the products of data and features, in the units of the state, and the sums of units with the bias,
// in those of the output.
ir::Expr quantized_features(Convert& c);
ir::Expr quantized_units(Convert& c, const ir::Expr& sums);
// x, with the quantisation `from`, as integers of `to`.
ir::Expr requantized(Convert& c, const ir::Expr& x, const TensorEntry& from, const TensorEntry& to);
ir::Expr rescaled(Convert& c, const ir::Expr& x, const TensorEntry& from, const TensorEntry& to);

// --- arithmetic ------------------------------------------------------------------------------------------------------

enum class Rounds : uint8_t {
  Once,    // halves up
  Twice,   // the product with the 31-bit integer, halves up, and after it the quotient by the power of two, halves away
           // from zero
  Coarse,  // a product of an int64 with an integer of 15 bits and a power of two, halves up
  Real     // a product of an int64 in float64, halves away from zero
};
ir::Expr zero_point(Convert& c, int64_t value);
// Integers times real factors, one or one for each index of the last axis, in another zero point and type.
ir::Expr scaled(Convert& c, const ir::Expr& e, const std::vector<double>& factors, Rounds rounds, int64_t to_zero,
                DType to);

// x * 2^-power plus a zero point, rounded, halves away from zero, saturated to a type.
ir::Expr quotient(Convert& c, const ir::Expr& x, int power, int64_t zero, DType to);

}  // namespace relay::tflite
