// Elements of storage types (DType) as expressions: decoded and encoded by arithmetic on their bits.
#pragma once

#include "relay/op/common.h"

namespace relay::op {

// How numbers become floats of a storage type that does not have them.
struct StorageRounding {
  bool saturate = true;      // beyond the greatest: it; otherwise infinity or NaN, what the type has
  std::string power = "up";  // of float8_e8m0fnu: the power above, "down": below, "nearest": from 1.5 times on above
};

// The value of an element: float32 of a float, int32 of an integer.
Expr storage_value(const Expr& element);
// `value`, of any number type, as an element. Floats are rounded to nearest, ties to even. To integers: floats drop the
// fraction and saturate (NaN is 0), integers keep their lowest bits.
Expr storage_element(const Expr& value, DType dtype, const StorageRounding& rounding = {});
// The lowest bits of a byte, which is uint8, and back.
Expr storage_bits(const Expr& element);
Expr storage_of_bits(const Expr& bits, DType dtype);

}  // namespace relay::op
