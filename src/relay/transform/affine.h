// Quantised values in a program, for fake_quantization_to_integer: integers q that stand for scale * (q -
// zero_point), and how each operator is computed on them.
#pragma once

#include <optional>

#include "relay/transform/typed.h"

namespace relay::transform {

// Scale and zero point: one, or one for each index of the axis.
struct Affine {
  ir::Expr scale, zero_point;
  int64_t axis = -1;  // not negative where there are several
  DType dtype = DType::int8();

  bool is_single() const { return ir::as<ir::TensorType>(scale->type)->shape.empty(); }
};

// A tensor, or a tuple of such, as integers. No affine: it is no float in the program, and stays what it is.
struct Quantized {
  ir::Expr value;
  std::vector<std::optional<Affine>> affine;  // one a tensor

  const Affine& one() const { return *affine[0]; }
};

// A call of an operator on floats. `args`: null where the argument is not quantised (a constant, an index).
struct FloatCall {
  const ir::Call& call;
  std::vector<const Quantized*> args;
  const Affine* output;  // of what quantises the result in the end; null: unknown
};

using IntegerRule = std::optional<Quantized> (*)(const FloatCall&);
// Null: the operator has none.
IntegerRule integer_rule(std::string_view op);

ir::Expr dequantized(const Quantized& q, const Span& span);
// The tensor under another scale, zero point and type; these are one.
ir::Expr requantized(const ir::Expr& value, const Affine& from, const Affine& to, const Span& span);

}  // namespace relay::transform
