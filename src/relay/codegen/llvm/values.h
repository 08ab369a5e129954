// Scalar and vector arithmetic of loop bodies as LLVM instructions. Internal to codegen/.
//
// A value of dtype float16 or bfloat16 is held as a float that is representable in its type: it is widened when loaded
// and every operation is rounded back, which gives the same bits as rounding once after an exact operation (float has
// more than twice the digits). Machines with instructions for float16 compute sums, products and quotients in it,
// with the same bits. A Bool is an i1; in memory it is a byte.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "relay/machine/target_desc.h"
#include "relay/scalar/expr.h"

namespace relay::codegen {

class Values {
 public:
  Values(llvm::IRBuilder<>& builder, const TargetDesc& target);

  llvm::Type* type(DType t) const;         // of a value
  llvm::Type* memory_type(DType t) const;  // of the array elements
  llvm::Value* from_memory(llvm::Value* v, DType t);
  llvm::Value* to_memory(llvm::Value* v, DType t);

  llvm::Value* constant(int64_t value, DType t) const;
  llvm::Value* constant(double value, DType t) const;
  llvm::Value* splat(llvm::Value* v, int lanes);
  llvm::Value* iota(llvm::Type* element, int lanes, int64_t stride = 1) const;

  llvm::Value* unary(scalar::UnaryOp op, llvm::Value* a, DType t);
  // `a_negative`: a may be negative (integers; if false, divisions take fewer instructions).
  llvm::Value* binary(scalar::BinaryOp op, llvm::Value* a, llvm::Value* b, DType t, bool a_negative = true);
  // x / c, or x % c, of 32-bit vectors with 0 <= x <= largest and 1 < c, both below 2^31.
  llvm::Value* small_division(llvm::Value* x, int64_t c, int64_t largest, bool quotient);
  llvm::Value* cast(llvm::Value* v, DType from, DType to);
  llvm::Value* reinterpret(llvm::Value* v, DType from, DType to);
  llvm::Value* fma(llvm::Value* a, llvm::Value* b, llvm::Value* c);

 private:
  llvm::Value* float_to_int(llvm::Value* v, DType from, DType to);
  llvm::Value* rounded_to_byte(llvm::Value* v, DType from, DType to);
  llvm::Type* like(llvm::Value* v, llvm::Type* element) const;
  llvm::Value* float_sign(llvm::Value* v);
  llvm::Value* float_minmax(bool max, llvm::Value* a, llvm::Value* b);
  llvm::Value* lane_quotient(llvm::Value* a, llvm::Value* b, DType t);
  llvm::Value* long_quotient(llvm::Value* a, llvm::Value* b);
  llvm::Value* int_division(scalar::BinaryOp op, llvm::Value* a, llvm::Value* b, DType t, bool a_negative);
  llvm::Value* floor_remainder(llvm::Value* a, llvm::Value* b);
  llvm::Value* floor_quotient(llvm::Value* a, llvm::Value* b);
  llvm::Value* half_binary(scalar::BinaryOp op, llvm::Value* a, llvm::Value* b);
  llvm::Value* int_power(llvm::Value* a, llvm::Value* b, DType t);
  llvm::Value* round16(llvm::Value* v, DType t);
  llvm::Value* narrow(llvm::Value* v, llvm::Type* type);
  llvm::Value* to_odd_float(llvm::Value* v);
  llvm::Value* half_bits(llvm::Value* v);
  llvm::Value* half_value(llvm::Value* bits);

  llvm::IRBuilder<>& b;
  bool converts_halves_, long_lanes_to_float_;  // conversions in one instruction: of halves, of 64-bit lanes
  bool bfloat_;              // float32 to bfloat16 in one instruction, which flushes subnormal numbers to zero
  bool half_arithmetic_;     // of float16 itself
  bool rounds_to_integers_;  // float32 to int32, half to even, in one instruction
  bool relaxed_;             // WebAssembly's relaxed SIMD
};

}  // namespace relay::codegen
