// Sigmoid and tanh in 16-bit fixed point, as LiteRT's recurrent kernels compute them, for tables that are made at
// import. A number with b integer bits has 15 - b fractional ones. Formulas: gemmlowp's fixedpoint.h.
#pragma once

#include <cstdint>

namespace relay::tflite::fixed_point {

// 1 / (1 + exp(-x)) in units of 2^-15, for x in units of 2^-12.
int64_t sigmoid16(int64_t x);
// tanh(x) in units of 2^-15, for x with `bits` integer bits, from 0 to 13.
int64_t tanh16(int64_t x, int bits);

}  // namespace relay::tflite::fixed_point
