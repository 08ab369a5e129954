// The languages in which kernels can be written, all of the C family. The writer (c_kernel.h) and its helper functions
// (c_helpers.h) read a dialect and never a language's name; a dialect that has no pointers or no 64-bit integers will
// need a few more members.
#pragma once

#include <span>
#include <string>

#include "relay/base/dtype.h"

namespace relay::codegen {

inline bool is_half(DType t) { return t.is_float() && t.bits == 16; }

struct Dialect {
  const char* name;                     // "C99"
  const char* signed_types[4];          // of 8, 16, 32 and 64 bits
  const char* unsigned_types[4];        // the same
  const char *least[4], *greatest[4];   // constants of the signed types
  const char* unsigned_greatest[4];     // constants of the unsigned types
  const char *int64_begin, *int64_end;  // around a literal: "INT64_C(" and ")"
  const char *uint64_begin, *uint64_end;
  const char* float_end;          // ends the names of functions on floats: "f" in sinf; empty if overloaded
  const char* array_space;        // in front of the type of an array that a kernel gets: "__global "
  const char* shared_space;       // ... of one that the threads of a block share: "__local "; empty if there are none
  const char* barrier;            // a statement, for all threads of a block
  const char* barrier_of_arrays;  // one that orders accesses of arrays of kernels as well
  std::span<const char* const> keywords;
  std::span<const char* const> functions;  // names that kernels use themselves
  // True if double is always there, and 16-bit floats are converted by way of it. Otherwise they are converted with
  // integers, and `towards_zero` is a function from any number to float.
  bool has_double;
  const char* towards_zero;

  // --- bodies of helper functions, which are `static inline`. $T: the type of the arguments, $U: the unsigned integer
  // of its size, at least 32 bits; $R: the type of the result; $f: float_end
  const char* bits_of;       // of a float `v`
  const char* from_bits;     // and back, of an integer `b`
  const char* multiply_add;  // a * b + c, with one rounding if RELAY_FMA is defined
  // Truncates a float `v`, saturates, and makes 0 of NaN. $L, $G: the least and the greatest result; $E: the exponent
  // of the least power of two that is too large.
  const char* to_integer;

  const char* integer(bool is_signed, int bits) const {
    const int at = bits <= 8 ? 0 : bits <= 16 ? 1 : bits <= 32 ? 2 : 3;
    return is_signed ? signed_types[at] : unsigned_types[at];
  }
  // The type in which a value is computed: float for 16-bit floats, int for Bool.
  std::string value_type(DType t) const;
  // The type of array elements: an unsigned integer for 16-bit floats and Bool.
  std::string stored_type(DType t) const;
};

extern const Dialect c99, opencl_c;

}  // namespace relay::codegen
