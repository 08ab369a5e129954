// Quantised values in a program, for fake_quantization_to_integer: integers q that represent scale * (q - zero_point),
// and the rules for computing operators on them.
#pragma once

#include <optional>

#include "relay/transform/typed.h"

namespace relay::transform {

// Scale and zero point: a single pair, or one for each index of the axis.
struct Affine {
  ir::Expr scale, zero_point;
  int64_t axis = -1;  // not negative if there are several pairs
  DType dtype = DType::int8();

  bool is_single() const { return ir::as<ir::TensorType>(scale->type)->shape.empty(); }
};

// A tensor, or a tuple of tensors, as integers. An unset affine means that the tensor is not a float in the program,
// and is unchanged.
struct Quantized {
  ir::Expr value;
  std::vector<std::optional<Affine>> affine;  // one per tensor

  const Affine& one() const { return *affine[0]; }
};

// A call of an operator on floats. `args`: null for arguments that are not quantised (a constant, an index).
struct FloatCall {
  const ir::Call& call;
  std::vector<const Quantized*> args;
  const Affine* output;   // of the quantisation that finally follows; null if unknown
  bool exact = false;     // see fake_quantization_to_integer.exact
  bool products = false;  // see fake_quantization_to_integer.products
};

using IntegerRule = std::optional<Quantized> (*)(const FloatCall&);
// Null if the operator has no rule, or, if `exact`, none whose integers are the floats rounded once.
IntegerRule integer_rule(std::string_view op, bool exact);
// True for convolutions and products of matrices.
bool is_contraction(std::string_view op);

ir::Expr dequantized(const Quantized& q, const Span& span);
// The tensor with another scale, zero point and type, each a single value; by a factor of 31 bits in integers, or, if
// `exact`, by a float32 factor, with halves to the even integer, as quantising the float would.
ir::Expr requantized(const ir::Expr& value, const Affine& from, const Affine& to, const Span& span, bool exact = false);

}  // namespace relay::transform
