// Arithmetic of LiteRT's kernels in 32-bit fixed point, for tables that are computed at import. Formulas: gemmlowp's
// fixedpoint.h, and LiteRT's quantization_util.cc.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace relay::tflite::fixed_point {

// a * b / 2^31, rounded, halves up.
inline int64_t product(int64_t a, int64_t b) { return (a * b + (int64_t{1} << 30)) >> 31; }
// a / 2^power, rounded, halves away from zero.
inline int64_t quotient(int64_t a, int power) {
  if (power == 0) return a;
  return (a + (int64_t{1} << (power - 1)) - (a < 0 ? 1 : 0)) >> power;
}
// A factor as an integer of 31 bits and a power of two.
inline std::pair<int64_t, int> multiplier(double factor) {
  int power = 0;
  int64_t m = std::llround(std::ldexp(std::frexp(factor, &power), 31));
  if (m == int64_t{1} << 31) m /= 2, ++power;
  return {m, power};
}

// a * m / 2^31 * 2^power, where each of the two factors is rounded.
inline int64_t times(int64_t a, int64_t m, int power) {
  return quotient(product(a << std::max(power, 0), m), std::max(-power, 0));
}

// 2^62 / (2^31 + x), for x from 0 below 2^31: three of Newton's steps.
inline int64_t reciprocal(int64_t x) {
  const int64_t half = (x + (int64_t{1} << 31)) >> 1;
  int64_t y = product(half, -1010580540) + 1515870810;  // 48/17 - 32/17 half, in units of 2^-29
  for (int step = 0; step < 3; ++step) y += product(y, (int64_t{1} << 29) - product(half, y)) * 4;
  return std::min<int64_t>(y * 2, INT32_MAX);
}

// 1 / sqrt(n), for n from 1 below 2^29, as an integer of 31 bits and a power of two: five of Newton's steps.
inline std::pair<int64_t, int> inverse_root(int64_t n) {
  constexpr int64_t most = INT32_MAX, one = int64_t{1} << 28, half_root_of_two = 1518500250;
  if (n == 1) return {most, 0};
  const int pairs = (__builtin_clz(static_cast<uint32_t>(n)) - 1) / 2 - 1;  // n * 4^pairs is from 2^27 below 2^29
  const int64_t half = quotient(n << (2 * pairs) >> 1, 1);
  int64_t x = one;
  for (int step = 0; step < 5; ++step) {
    const int64_t cube = std::min(product(product(x, x), x) << 6, most);
    x = std::min((product(one + one / 2, x) - product(half, cube)) << 3, most);
  }
  const int power = 11 - pairs;
  return {product(x, half_root_of_two) << std::max(-power, 0), -std::max(power, 0)};
}

// exp(a / 2^26) * 2^31 for a from -2^31 to 0: a polynomial for the part within 1/4, times a factor for each bit above.
inline int64_t exp_of_negative(int64_t a) {
  constexpr int64_t most = INT32_MAX, quarter = int64_t{1} << 24;
  if (a == 0) return most;
  const int64_t within = (a & (quarter - 1)) - quarter;
  const int64_t x = within * 32 + (int64_t{1} << 28);  // around -1/8
  const int64_t x2 = product(x, x), x3 = product(x2, x), x4 = product(x2, x2);
  constexpr int64_t of_eighth = 1895147668, third = 715827883;  // exp(-1/8), 1/3
  const int64_t higher = quotient(product(quotient(x4, 2) + x3, third) + x2, 1);
  int64_t result = std::min(of_eighth + product(of_eighth, x + higher), most);
  constexpr int64_t factors[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};  // exp(-2^k)
  for (int k = 0; k < 7; ++k)
    if ((within - a) >> (24 + k) & 1) result = product(result, factors[k]);
  return result;
}

}  // namespace relay::tflite::fixed_point
