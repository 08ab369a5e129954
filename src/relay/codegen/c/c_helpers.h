// Functions for operations that C has no operator for. Each is written into the source once, and only if a kernel uses
// it.
#pragma once

#include <string>
#include <vector>

#include "relay/base/dtype.h"
#include "relay/codegen/c/dialect.h"
#include "relay/scalar/expr.h"

namespace relay::codegen {

// The C99 type of array elements.
inline std::string c_stored_type(DType t) { return c99.stored_type(t); }

// The name of a kernel's function, since kernels may have names of C's own, such as `floor`.
inline std::string c_name(const std::string& kernel) { return "kernel_" + kernel; }

class CHelpers {
 public:
  explicit CHelpers(const Dialect& dialect) : dialect_(dialect) {}

  // Each returns the name of a function.
  std::string binary(scalar::BinaryOp op, DType t);  // of two values of t, which is not a 16-bit float
  std::string unary(scalar::UnaryOp op, DType t);    // Sign; Abs of integers
  std::string to_integer(DType t, DType from);       // of a float or double: truncates, saturates, 0 for NaN
  std::string bits_of(DType t);                      // of a float or double: uint32_t or uint64_t
  std::string from_bits(DType t);                    // and back
  std::string multiply_add(DType t);                 // of three values: a * b + c; one rounding if RELAY_FMA is defined
  // The nearest integer to a float, halves to even, plus an int32_t of at most 20 bits; saturated, and 0 for NaN. `t`
  // has at most 16 bits.
  std::string nearest(DType t);
  // The function of pointers to `products` bytes of each type and an int32_t: adds their products to that.
  std::string dot(DType left, DType right, size_t products);
  static bool has_dot(DType left, DType right, size_t products);
  std::string round(DType half);  // of a float: the nearest value of that type, as a float
  std::string load(DType half);   // of a uint16_t: a float
  std::string store(DType half);  // of a float that is a value of the type: a uint16_t
  // From a wider number to a float that round() takes to the same value. Empty if a conversion suffices.
  std::string narrow(DType from);

  // The functions that `code` uses, and those that they use.
  std::string text_for(const std::string& code) const;

 private:
  std::string dot_of_vectors(DType t);
  std::string add(const std::string& name, const std::string& text);
  std::string filled(std::string text, DType t, const std::string& result = {}) const;

  const Dialect& dialect_;
  std::vector<std::pair<std::string, std::string>> all_;  // name and text, each after the functions that it uses
};

}  // namespace relay::codegen
