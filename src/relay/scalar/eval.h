// Evaluates a scalar expression exactly in each type's arithmetic; this defines the meaning of expressions. Slow; the
// loop interpreter and the tests of math.h and of code generation are built on it.
//
//   eval(x * x + fimm(1), env)  with x = 0.1f   ->   the float32 that a machine without fused multiply-add computes
//
// Integers wrap around at their width. float16 and bfloat16 compute in float32 and round after every operation. exp,
// log, sin, ... are computed in double and rounded (float64: by the C library).
#pragma once

#include <span>

#include "relay/scalar/expr.h"

namespace relay::scalar {

// The value of one lane. Floats are in f (every float32 and float16 is a double), integers and Bools in i (uint64: its
// 64 bits).
struct Value {
  DType dtype;
  int64_t i = 0;
  double f = 0;
};
Value int_value(int64_t v, DType dtype = DType::int64());  // wrapped to the width
Value float_value(double v, DType dtype);                  // rounded to the type

Value apply(UnaryOp op, const Value& a);
Value apply(BinaryOp op, const Value& a, const Value& b);
Value convert(DType dtype, const Value& a);      // Cast
Value reinterpret(DType dtype, const Value& a);  // Reinterpret
// Returns a * b + c with one rounding.
Value fused_multiply_add(const Value& a, const Value& b, const Value& c);

struct Environment {
  // The value of a variable in a lane (0 for scalar variables).
  function_ref<Value(const Expr& var, int lane)> var;
  // Returns source[indices]; the callee reports indices out of range.
  function_ref<Value(const Source& source, std::span<const int64_t> indices)> load;
  bool contract = false;  // fuse a * b + c and a * b - c of floats, as code generation may do
};

// Evaluates lane `lane` of e. Shared nodes are computed once; of a select only the chosen side is computed.
Value eval(const Expr& e, const Environment& environment, int lane = 0);
// Evaluates with these variables; loads are not allowed.
Value eval(const Expr& e, const std::vector<std::pair<Expr, Value>>& values, bool contract = false);

// A double rounded to a float type, as a double; half to even.
double round_to(DType dtype, double v);

}  // namespace relay::scalar
