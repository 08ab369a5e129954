// Puts the integer layers of a program between qnn.quantize and qnn.dequantize:
//
//   nn.dense(%x, weight)
//     becomes   nn.dense(dequantize(quantize(%x, s, z), s, z), dequantize(integers, t, u, axis=0))
//
// The result computes in floats, with the rounding of integers. fake_quantization_to_integer makes integers of it.
#pragma once

#include <optional>

#include "relay/transform/quantise/compensation.h"
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
  bool stored_only = false;    // of a weight that is multiplied as floats
  int group = 0;               // of it: neighbours along the summed axis that share a scale; 0: no groups
  double least = 0, most = 0;  // of an operand that is computed
  const Compensation* compensation = nullptr;  // of a product's weight; null: each weight is rounded by itself
  bool operator==(const OperandForm&) const = default;
};

// A weight as integers that are stored for a product of floats: the dequantised constant. Integers of 4 and 2 bits are
// packed along the axis `summed` of the product's sum, on which groups are, too:
//
//   qnn.dequantize(storage.unpack(bytes, dtype="int4", axis=1), scales, 0, axis=1, block=32)
//
// A group that does not divide the axis is replaced by the largest one below it that does. The scale maps the weight of
// the largest magnitude to the least integer, -8 for 4 bits, so it may be negative. Elements are finite.
ir::Expr stored_weight(const Tensor& weight, const OperandForm& form, int64_t summed, const Span& span);
// The rows of a table that a call `take(table, indices, axis=0)` returns, taken from its stored form.
ir::Expr stored_rows(const ir::Expr& stored, const ir::Call& take);
// The memory of a stored weight with its scales, and the root of its mean squared difference to the weight, relative to
// the weight.
int64_t stored_bytes(const Tensor& weight, const OperandForm& form, int64_t summed);
double stored_error(const Tensor& weight, const OperandForm& form, int64_t summed);

// A weight as integers: the dequantised constant. Elements are finite. With a compensation the weight has rank 2 and is
// summed along the other axis than `axis`.
ir::Expr quantised_weight(const Tensor& weight, const OperandForm& form, int64_t axis, const Span& span);

// The bits of a layer's data with which int32 holds the sums of its products, if the weight has this form: at most
// `wanted`, but at least 8 of them. `symmetric`: of the data.
int data_bits(const Layer& layer, const OperandForm& weight, int wanted, bool symmetric);

// Quantises the operands of integer layers in their forms; an operand without a form stays float. The result is
// untyped. `tables`: the form of constants whose rows are taken (embeddings), which stay float if it is unset.
ir::Module annotate(const ir::Module& module, const std::vector<Layer>& layers,
                    function_ref<std::optional<OperandForm>(const Layer& layer, size_t operand)> form_of,
                    const std::optional<OperandForm>& tables = {});

}  // namespace relay::transform
