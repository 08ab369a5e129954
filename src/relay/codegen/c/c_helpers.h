// Functions for operations that C has no operator for. Each is written into the source once, and only if a kernel uses
// it.
#pragma once

#include <string>
#include <vector>

#include "relay/base/dtype.h"
#include "relay/scalar/expr.h"

namespace relay::codegen {

// Names that no variable may have: keywords of C99, and asm.
inline constexpr const char* c_keywords[] = {
    "auto",   "break",    "case",     "char",     "const", "continue", "default", "do",     "double",
    "else",   "enum",     "extern",   "float",    "for",   "goto",     "if",      "inline", "int",
    "long",   "register", "restrict", "return",   "short", "signed",   "sizeof",  "static", "struct",
    "switch", "typedef",  "union",    "unsigned", "void",  "volatile", "while",   "asm"};

// The C type in which a value is computed: float for 16-bit floats, int for Bool.
std::string c_value_type(DType t);
// The C type of array elements: uint16_t for 16-bit floats, uint8_t for Bool.
std::string c_stored_type(DType t);
inline bool is_half(DType t) { return t.is_float() && t.bits == 16; }

// The name of a kernel's function, since kernels may have names of C's own, such as `floor`.
inline std::string c_name(const std::string& kernel) { return "kernel_" + kernel; }

class CHelpers {
 public:
  // Each returns the name of a function.
  std::string binary(scalar::BinaryOp op, DType t);  // of two values of t, which is not a 16-bit float
  std::string unary(scalar::UnaryOp op, DType t);    // Sign; Abs of integers
  std::string to_integer(DType t);                   // of a double: truncates, saturates, 0 for NaN
  std::string bits_of(DType t);                      // of a float or double: uint32_t or uint64_t
  std::string from_bits(DType t);                    // and back
  std::string multiply_add(DType t);                 // of three values: a * b + c; one rounding if RELAY_FMA is defined
  std::string round(DType half);                     // of a double: the nearest value of that type, as a float
  std::string load(DType half);                      // of a uint16_t: a float
  std::string store(DType half);                     // of a float that is a value of the type: a uint16_t

  // The functions that `code` uses, and those that they use.
  std::string text_for(const std::string& code) const;

 private:
  std::string add(const std::string& name, const std::string& text);

  std::vector<std::pair<std::string, std::string>> all_;  // name and text, each after the functions that it uses
};

}  // namespace relay::codegen
