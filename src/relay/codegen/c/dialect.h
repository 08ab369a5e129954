// The languages in which kernels can be written. The writer (c_kernel.h) and its helper functions (c_helpers.h) read a
// dialect and never a language's name.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "relay/base/dtype.h"
#include "relay/scalar/expr.h"

namespace relay::codegen {

inline bool is_half(DType t) { return t.is_float() && t.bits == 16; }

// A kernel that the threads of a device run.
struct DeviceEntry {
  // In front of `void kernel_NAME(`, without and with blocks of threads. $N: the threads of a block.
  const char *plain = "", *of_blocks = "";
  // Expressions: the numbers of a thread among all and in its block, of a block, and of all threads and blocks.
  const char *item = "", *thread = "", *block = "", *items = "", *blocks = "";
  // An array is a memory object and the position of its first byte. Otherwise it is a pointer to its elements.
  bool has_positions = false;
  // The space of an array of the shape variables and the tasks, the last parameter but scratch memory; empty if each
  // is a parameter of its own.
  const char* sizes_space = "";
  const char* number = "";    // behind a parameter, with its number $I
  const char* built_in = "";  // further parameters, which the device sets
};

struct Dialect {
  const char* name;               // "C99"
  const char* signed_types[4];    // of 8, 16, 32 and 64 bits
  const char* unsigned_types[4];  // the same
  const char *float_type, *double_type, *bool_type;
  const char *least[4], *greatest[4];   // constants of the signed types
  const char* unsigned_greatest[4];     // constants of the unsigned types
  const char *int64_begin, *int64_end;  // around a literal: "INT64_C(" and ")"
  const char *uint64_begin, *uint64_end;
  // --- as in C and OpenCL C
  const char *infinity = "INFINITY", *nan = "NAN";                    // constants of float
  const char *yes = "1", *no = "0";                                   // of comparisons
  const char *is_nan = "isnan($A) != 0", *is_inf = "isinf($A) != 0";  // comparisons of a float $A
  // --- of each language
  const char* float_end;          // ends the names of functions on floats: "f" in sinf; empty if overloaded
  const char *abs, *rint;         // functions of floats
  const char* array_space;        // in front of the type of an array that a kernel gets: "__global "
  const char* shared_space;       // ... of one that the threads of a block share: "__local "; empty if there are none
  const char* barrier;            // a statement, for all threads of a block
  const char* barrier_of_arrays;  // one that orders accesses of arrays of kernels as well
  // The entry of a kernel on a device; unset for languages that have no such entries or write them in another form.
  DeviceEntry device{};
  // A language without pointers: the array of 32-bit words that holds all arrays of kernels. An array is then the
  // number of its first word. Empty for languages with pointers.
  const char* memory;
  // Syntax of WGSL instead of C's: `x: f32`, `f32(x)`, `select(b, a, condition)`.
  bool names_first;
  bool integers_wrap;  // sums and products of signed integers of 32 bits wrap around
  std::span<const char* const> keywords;
  std::span<const char* const> functions;  // names that kernels use themselves
  // True if double is always there, and 16-bit floats are converted by way of it. Otherwise they are converted with
  // integers, and `towards_zero` is a function from any number to float; null if the language has none.
  bool has_double;
  const char* towards_zero;
  const char* function_begin = "static inline ";

  // --- bodies of helper functions. $T: the type of the arguments, $U: the unsigned integer
  // of its size, at least 32 bits; $R: the type of the result; $f: float_end; $W: the bits of the arguments
  const char* bits_of;       // of a float `v`
  const char* from_bits;     // and back, of an integer `b`
  const char* multiply_add;  // a * b + c, with one rounding if RELAY_FMA is defined
  // Truncates a float `v`, saturates, and makes 0 of NaN. $L, $G: the least and the greatest result; $E: the exponent
  // of the least power of two that is too large.
  const char* to_integer;
  // The body for a binary operation on `a` and `b`, by the type of its operands; null if the language lacks it.
  const char* (*binary_body)(scalar::BinaryOp op, DType t);
  // The body for Sign, and for Abs of integers. $B: the function that returns the bits of a float. Sign reads them
  // because a comparison may count subnormal numbers as zero.
  const char* (*unary_body)(scalar::UnaryOp op, DType t);

  const char* integer(bool is_signed, int bits) const {
    const int at = bits <= 8 ? 0 : bits <= 16 ? 1 : bits <= 32 ? 2 : 3;
    return is_signed ? signed_types[at] : unsigned_types[at];
  }
  // The type in which a value is computed: float for 16-bit floats, int for Bool.
  std::string value_type(DType t) const;
  // --- syntax
  std::string declared(const std::string& type, const std::string& name) const;
  std::string constant(const std::string& type, const std::string& name, const std::string& value) const;
  std::string variable(const std::string& type, const std::string& name, const std::string& value = {}) const;
  std::string array(const std::string& type, const std::string& name, int64_t elements,
                    const std::string& space = {}) const;
  // The beginning of a loop from `first` to below `last`; by `step` if it is not empty.
  std::string loop(const std::string& type, const std::string& name, const std::string& first, const std::string& last,
                   const std::string& step = {}) const;
  // A function of parameters of one type.
  std::string function(const std::string& result, const std::string& name, const std::string& type,
                       const std::vector<std::string>& parameters, const std::string& body) const;

  // The type of array elements: an unsigned integer for 16-bit floats and Bool.
  std::string stored_type(DType t) const;
};

extern const Dialect c99, opencl_c, hip_c, metal, wgsl;

}  // namespace relay::codegen
