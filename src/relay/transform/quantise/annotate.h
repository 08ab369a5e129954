// Puts the integer layers of a program between qnn.quantize and qnn.dequantize:
//
//   nn.dense(%x, weight)
//     becomes   nn.dense(dequantize(quantize(%x, s, z), s, z), dequantize(integers, t, u, axis=0))
//
// The result computes in floats, with the rounding of integers. fake_quantization_to_integer makes integers of it.
#pragma once

#include <optional>

#include "relay/transform/quantise/layers.h"

namespace relay::transform {

// The integers that represent a range of numbers: real = scale * (integer - zero_point).
struct IntegerRange {
  double scale = 1;
  int64_t zero_point = 0;
  int64_t least = -128, most = 127;  // integers
};
// The representation of [least, most], extended to contain 0. Symmetric: the zero point is 0, and the integers are
// those of both signs, without the least. 2 <= bits <= 16. A range of only 0 has the scale 1. The bounds are finite.
IntegerRange integer_range(double least, double most, int bits, bool symmetric);

// The quantisation of an operand. A weight's range is that of its values.
struct OperandForm {
  int bits = 8;
  bool symmetric = false;
  bool per_channel = false;    // a scale for each output channel of a weight
  double least = 0, most = 0;  // of an operand that is computed
  bool operator==(const OperandForm&) const = default;
};

// A weight as integers: the dequantised constant. Elements are finite.
ir::Expr quantised_weight(const Tensor& weight, const OperandForm& form, int64_t axis, const Span& span);

// Quantises the operands of integer layers in their forms; an operand without a form stays float. The result is
// untyped.
ir::Module annotate(const ir::Module& module, const std::vector<Layer>& layers,
                    function_ref<std::optional<OperandForm>(const Layer& layer, size_t operand)> form_of);

}  // namespace relay::transform
