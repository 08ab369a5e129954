// The values of storage types (DType): conversion of a byte to a number, and of a number to a byte.
#pragma once

#include "relay/base/dtype.h"

namespace relay {

// A float of at most 8 bits: a sign, an exponent, `mantissa` bits. Covers OCP 8-bit floating point (2023), the types
// without infinity and negative zero of Noune et al. (2022), OCP microscaling (2023), and the types that follow IEEE
// 754 in 8 bits.
struct StorageFloat {
  DType::Code code{};
  int bits = 8, mantissa = 3;
  int min_exponent = 0;        // of normal values
  int greatest = 0;            // the code of the greatest finite value
  int overflow = 0, nan = 0;   // the codes of greater values, and of NaN
  bool no_minus_zero = false;  // its code is NaN
};

// Null for integers and for float8_e8m0fnu, which is a power of two: 2^(code - 127), 255 is NaN.
const StorageFloat* storage_float(DType dtype);
bool is_storage_integer(DType dtype);

// The value of the low bits of a byte.
double from_storage(DType dtype, uint8_t byte);
// Floats are rounded to nearest, ties to even, and values beyond the greatest one become it. A power of two becomes the
// next one that is not smaller. Integers drop the fraction and saturate; NaN becomes 0.
uint8_t to_storage(DType dtype, double value);

}  // namespace relay
