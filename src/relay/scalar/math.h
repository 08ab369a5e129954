// exp, log, tanh and similar functions as polynomials, for code generation: without a vector library, a vector exp
// would become one scalar call per lane.
//
//   exp(x)  ->  n = round(x * log2(e)),  r = x - n * log(2),  (1 + r + r * r * P(r)) * 2^n
//
// The results are DAGs over +, -, *, /, select, shifts and Reinterpret, for any lane count, with or without fused
// multiply-add. Denormals, infinities, NaN and signed zeros come out as in C. Error in units in the last place (ULP)
// against the exact value, measured over all exponents, with and without contraction (math_test.cpp repeats it on
// samples):
//
//   float32   exp 1.1   log 1.1   tanh 2.6   erf 2     sin, cos, tan 0.51   atan 1.1   pow 0.51   rsqrt 1.5
//             expm1 1.7   log1p 1.6   erfc 4
//   float64   exp 1     log 1     tanh 1.4   erf 1.4   sin, cos 2, tan 4    atan 1     pow 0.85   rsqrt 1.5
//             expm1 1.8   log1p 1.6   erfc 6
//
// Sines, cosines and tangents of |x| >= 2^28 are left as they are: code generation has the reduction of such angles.
// float16 and bfloat16 are computed in float32.
#pragma once

#include <span>

#include "relay/scalar/expr.h"

namespace relay::scalar {

// Expands every floating-point exp, expm1, log, log1p, tanh, erf, erfc, sin, cos, tan, atan, rsqrt and pow in e.
Expr expand_math(const Expr& e);

// Expands one function of arguments of any float type and lane count; null if it has no expansion (sqrt, floor, ...).
Expr expand(UnaryOp op, const Expr& x);
Expr expand_power(const Expr& x, const Expr& y);

// For doubles in [-pi / 4, pi / 4], z = x * x: sin(x) = x + x * z * P(z), cos(x) = 1 - z / 2 + z * z * P(z), the terms
// of P from the constant one on.
std::span<const double> sine_terms();
std::span<const double> cosine_terms();

}  // namespace relay::scalar
