// Products of integers with a 31-bit factor, for requantising and fixed_point_multiply.
#pragma once

#include "relay/op/common.h"

namespace relay::op {

enum class Rounding : uint8_t { HalvesUp, HalvesAway };  // -2.5 to -2, or to -3

// x * multiplier * 2^(left - right - 31), rounded, in 64 bits: (x << left) times the multiplier, plus half a unit,
// shifted right by 31 + right bits. All are int64.
inline Expr fixed_point_product(const Expr& x, const Expr& multiplier, const Expr& left, const Expr& right,
                                Rounding rounding = Rounding::HalvesUp) {
  Expr wide = scalar::binary(BinaryOp::Shl, x, left) * multiplier;
  Expr half = scalar::binary(BinaryOp::Shl, dim(1), right + 30);
  if (rounding == Rounding::HalvesAway) half = half - cast(DType::int64(), lt(wide, dim(0)));
  return scalar::binary(BinaryOp::Shr, wide + half, right + 31);
}

}  // namespace relay::op
