// Conversions of integers of few bits to float32 without a shift or a conversion: the bits become digits of a float
// whose other digits are known.
//
//   float32(shr(shl(x >> 4, 28), 28))    a signed number in bits 4 to 7 of x
//     ->   as_float32((x & 0xf0) ^ 0x49000080) - (2^19 + 8)
//
// 0x49000000 is 2^19 as a float32, whose digit in bit 4 is 1. The subtraction is exact, so the value is the same bit
// for bit. AVX-512 computes the and and the xor as one instruction.
#pragma once

#include "relay/scalar/expr.h"

namespace relay::scalar {

// The value of the cast in that form; null if it is not a conversion to float32 of a number of at most 8 bits, cut out
// of an int32 by shifts or a mask.
Expr few_bits_as_float(const Expr& cast);

}  // namespace relay::scalar
