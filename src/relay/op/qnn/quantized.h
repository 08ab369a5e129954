// Shared parts of the operators on quantised tensors. A quantised tensor consists of integers with a scale and a zero
// point, one pair for all of it or one for each index of an axis:
//
//   real = scale * (quantised - zero_point)
//
// Requantising converts integers to another pair by integer arithmetic. The factor scale / output_scale is a 31-bit
// multiplier and a power of two, so results are bit-identical on every machine.
#pragma once

#include "relay/op/math/fixed_point.h"

namespace relay::op::qnn {

// --- types -----------------------------------------------------------------------------------------------------------
// Checks that the tensor has one of the integer types of quantised values: int8, uint8, int16, uint16, int32.
Status expect_quantized(const char* number, const TensorType* type, const char* name);
bool is_quantized(DType dtype);
// Checks that in[k] and in[k + 1] are a scale (a float) and a zero point (an integer): single values if `extent` is
// null, else one each or one for each of `extent`.
Status expect_parameters(const char* number, const Types& in, size_t k, const char* name, const Dim& extent = {});
// The same for parameters that are single values or have the shape `blocks`.
Status expect_block_parameters(const char* number, const Types& in, size_t k, const char* name, const Dims& blocks);

// --- computation -----------------------------------------------------------------------------------------------------
// The least and the greatest integer of a type.
std::pair<int64_t, int64_t> range_of(DType dtype);
// An int64 as the nearest value of `dtype`.
Expr saturated(const Expr& value, DType dtype);

// A zero point that is a known value in the range of the type, else nullopt.
std::optional<int64_t> known_zero_point(const te::Tensor& zero_point, DType type);

struct Parameters {
  te::Tensor scale, zero_point;
  size_t axis = 0;    // the axis of the tensor, if there are several values
  int64_t block = 0;  // the number of neighbours along the axis that share values of the tensor's rank, or 0

  Expr scale_at(const Exprs& i) const { return (*scale)(place(scale, i)); }
  Expr zero_at(const Exprs& i, DType dtype) const { return cast(dtype, (*zero_point)(place(zero_point, i))); }

 private:
  Exprs place(const te::Tensor& t, Exprs i) const {
    if (t->shape.empty()) return {};
    if (block == 0) return {i[axis]};
    i[axis] = floordiv(i[axis], block);
    return i;
  }
};

// Positive numbers as multiplier * 2^(shift - 31), with a 31-bit multiplier.
struct Factors {
  te::Tensor real;               // float64, or the type in which the product is computed
  te::Tensor multiplier, shift;  // int32
};
Factors factors(const te::Tensor& real);
// scale / output_scale.
Factors ratio(const te::Tensor& scale, const te::Tensor& output_scale);

struct Requantize {
  DType dtype = DType::int32();
  Rounding rounding = Rounding::HalvesUp;
  DType compute = DType::int64();  // or a float type
};
// value (int64, or int32 if computed in floats; zero point subtracted) times a factor, plus a zero point (int64, or a
// float in the type of the computation, if it has at most 16 bits). `at`: the indices at which the factors are read.
Expr requantized(const Expr& value, const Factors& factor, const Exprs& at, const Expr& output_zero_point,
                 const Requantize& r);
// The same for a whole tensor.
te::Tensor requantized(const te::Tensor& data, const Parameters& from, const te::Tensor& output_scale,
                       const te::Tensor& output_zero_point, const Requantize& r);

// data - zero_point, int32.
te::Tensor shifted(const char* name, const te::Tensor& data, const Parameters& p);
// A float as an integer: value / scale + zero_point, rounded to the nearest value of `dtype`, ties to even. With
// `round_first`, the quotient is rounded before the zero point is added.
Expr quantized(const Expr& value, const Expr& scale, const Expr& zero_point, DType dtype, bool round_first = false);
// scale * (value - zero_point), in the scale's accumulator type. The difference is computed in the type of floats, and
// of integers in int32.
Expr dequantized(const Expr& value, const Expr& scale, const Expr& zero_point);

}  // namespace relay::op::qnn
