#include "relay/frontend/tflite/fixed_point16.h"

#include <algorithm>

#include "relay/frontend/tflite/fixed_point.h"

namespace relay::tflite::fixed_point {

namespace {

constexpr int64_t one = INT16_MAX, one_of_two_bits = 1 << 13;

int64_t fitting(int64_t x) { return std::clamp<int64_t>(x, INT16_MIN, INT16_MAX); }
// a * b / 2^15, rounded, halves away from zero.
int64_t product16(int64_t a, int64_t b) {
  const int64_t ab = a * b;
  return fitting((ab + (ab >= 0 ? 1 << 14 : 1 - (1 << 14))) / (1 << 15));
}
// A constant of 31 fractional bits, in 15.
int64_t narrow(int64_t constant) { return quotient(constant, 16); }

// exp(x) for x from -1/4 to 0, without integer bits: a polynomial around -1/8.
int64_t exp_within_quarter(int64_t a) {
  const int64_t x = a + (1 << 12), of_eighth = narrow(1895147668), third = narrow(715827883);
  const int64_t x2 = product16(x, x), x3 = product16(x2, x), x4 = product16(x2, x2);
  const int64_t higher = quotient(product16(quotient(x4, 2) + x3, third) + x2, 1);
  return fitting(of_eighth + product16(of_eighth, x + higher));
}

// exp(x) for x below 0: that of the part within 1/4, times a factor for each bit above.
int64_t exp_of_negative16(int64_t a, int bits) {
  constexpr int64_t factors[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};  // exp(-2^k)
  if (a == 0) return one;
  const int fraction = 15 - bits;
  const int64_t quarter = int64_t{1} << (fraction - 2), within = (a & (quarter - 1)) - quarter;
  int64_t result = exp_within_quarter(fitting(within << bits));
  for (int k = -2; k < 5 && k < bits; ++k)
    if ((within - a) >> (fraction + k) & 1) result = product16(result, narrow(factors[k + 2]));
  if (bits > 5 && a < -(int64_t{1} << (fraction + 5))) return 0;
  return result;
}

// 2 / (1 + a) with two integer bits, for a from 0 to 1: three of Newton's steps.
int64_t twice_reciprocal(int64_t a) {
  const int64_t half = (a + one + 1) / 2;                                 // of 1 + a
  int64_t x = narrow(1515870810) + product16(half, narrow(-1010580540));  // 48/17 - 32/17 half
  for (int step = 0; step < 3; ++step) x += fitting(product16(x, one_of_two_bits - product16(half, x)) * 4);
  return x;
}

}  // namespace

int64_t sigmoid16(int64_t x) {
  if (x == 0) return 1 << 14;
  const int64_t y = fitting(twice_reciprocal(exp_of_negative16(x > 0 ? -x : x, 3)) * 2);
  return x > 0 ? y : one - y;
}

int64_t tanh16(int64_t x, int bits) {
  if (x == 0) return 0;
  const int64_t y = fitting((twice_reciprocal(exp_of_negative16(x > 0 ? -x : x, bits + 1)) - one_of_two_bits) * 4);
  return x > 0 ? y : -y;
}

}  // namespace relay::tflite::fixed_point
