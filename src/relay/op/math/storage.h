// Elements of storage types (DType) as expressions: decoding and encoding by arithmetic on their bits.
#pragma once

#include "relay/op/common.h"

namespace relay::op {

// The conversion of values that a storage float type cannot represent.
struct StorageRounding {
  // values beyond the greatest one become it; otherwise infinity or NaN, depending on the type
  bool saturate = true;
  // for float8_e8m0fnu: the next power "up" or "down", or "nearest": up from 1.5 times a power
  std::string power = "up";
};

// The value of an element: float32 for a float, int32 for an integer.
Expr storage_value(const Expr& element);
// `value`, of any number type, as an element. Floats are rounded to nearest, ties to even. For integer types, floats
// drop the fraction and saturate (NaN is 0), and integers keep their lowest bits.
Expr storage_element(const Expr& value, DType dtype, const StorageRounding& rounding = {});
// The significant bits of an element as uint8, and the inverse.
Expr storage_bits(const Expr& element);
Expr storage_of_bits(const Expr& bits, DType dtype);

}  // namespace relay::op
