#include "relay/codegen/llvm/values.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "relay/base/diagnostics.h"
#include "relay/codegen/llvm/far_angles.h"
#include "relay/codegen/llvm/remainder.h"

namespace relay::codegen {

using llvm::Constant;
using llvm::ConstantFP;
using llvm::ConstantInt;
using llvm::FixedVectorType;
using llvm::Type;
using llvm::Value;
using llvm::Intrinsic::ID;
using scalar::BinaryOp;
using scalar::UnaryOp;

static bool has(const TargetDesc& target, const char* feature) {
  return std::find(target.features.begin(), target.features.end(), feature) != target.features.end();
}

Values::Values(llvm::IRBuilder<>& builder, const TargetDesc& target)
    : b(builder),
      converts_halves_(has(target, "+f16c") || target.triple.starts_with("aarch64")),
      long_lanes_to_float_(has(target, "+avx512dq")),
      bfloat_(has(target, "+avx512bf16") && has(target, "+avx512vl")),
      half_arithmetic_((has(target, "+avx512fp16") && has(target, "+avx512vl")) || has(target, "+fullfp16")),
      rounds_to_integers_(target.triple.starts_with("x86_64")),
      relaxed_(has(target, "+relaxed-simd")) {}

static bool is_small_float(DType t) { return t.is_float() && t.bits == 16; }
static bool is_signed(DType t) { return t.code == DType::Code::Int; }

Type* Values::type(DType t) const {
  Type* element = t.is_bool()     ? b.getInt1Ty()
                  : !t.is_float() ? b.getIntNTy(t.bits)
                  : t.bits == 64  ? b.getDoubleTy()
                                  : b.getFloatTy();
  return t.lanes == 1 ? element : FixedVectorType::get(element, t.lanes);
}

Type* Values::memory_type(DType t) const {
  if (!t.is_bool() && !is_small_float(t)) return type(t);
  Type* element = t.is_bool() ? b.getInt8Ty() : b.getInt16Ty();
  return t.lanes == 1 ? element : FixedVectorType::get(element, t.lanes);
}

Type* Values::like(Value* v, Type* element) const {
  FixedVectorType* vector = llvm::dyn_cast<FixedVectorType>(v->getType());
  return vector ? FixedVectorType::get(element, vector->getNumElements()) : element;
}

static Constant* int_like(Type* t, uint64_t value) { return ConstantInt::get(t, value); }

Value* Values::from_memory(Value* v, DType t) {
  if (t.is_bool()) return b.CreateICmpNE(v, Constant::getNullValue(v->getType()));
  if (!is_small_float(t)) return v;
  if (t.code == DType::Code::BFloat) {
    Type* wide = like(v, b.getInt32Ty());
    return b.CreateBitCast(b.CreateShl(b.CreateZExt(v, wide), int_like(wide, 16)), like(v, b.getFloatTy()));
  }
  if (converts_halves_) return b.CreateFPExt(b.CreateBitCast(v, like(v, b.getHalfTy())), like(v, b.getFloatTy()));
  return half_value(v);
}

Value* Values::to_memory(Value* v, DType t) {
  if (t.is_bool()) return b.CreateZExt(v, like(v, b.getInt8Ty()));
  if (!is_small_float(t)) return v;
  Type* half = like(v, b.getInt16Ty());
  if (t.code == DType::Code::BFloat) {  // round half to even; a NaN keeps its top bits and stays one
    using namespace llvm::PatternMatch;
    Value* known = nullptr;  // the bits that were just widened
    if (match(v, m_BitCast(m_Shl(m_ZExt(m_Value(known)), m_SpecificInt(16)))) && known->getType() == half) return known;
    if (bfloat_) return b.CreateBitCast(narrow(v, like(v, b.getBFloatTy())), half);
    Type* wide = like(v, b.getInt32Ty());
    Value* bits = b.CreateBitCast(v, wide);
    Value* high = b.CreateLShr(bits, int_like(wide, 16));
    Value* odd = b.CreateAnd(high, int_like(wide, 1));
    Value* rounded = b.CreateLShr(b.CreateAdd(bits, b.CreateAdd(odd, int_like(wide, 0x7FFF))), int_like(wide, 16));
    Value* nan = b.CreateFCmpUNO(v, v);
    return b.CreateTrunc(b.CreateSelect(nan, b.CreateOr(high, int_like(wide, 0x40)), rounded), half);
  }
  if (converts_halves_) return b.CreateBitCast(narrow(v, like(v, b.getHalfTy())), half);
  return half_bits(v);
}

// Rounds to a narrower float.
Value* Values::narrow(Value* v, Type* type) {
  Value* before = nullptr;
  const bool was_widened =
      llvm::PatternMatch::match(v, llvm::PatternMatch::m_FPExt(llvm::PatternMatch::m_Value(before)));
  return was_widened && before->getType() == type ? before : b.CreateFPTrunc(v, type);
}

// float16 bits to float by integer arithmetic, for machines without the conversion instruction.
Value* Values::half_value(Value* bits) {
  Type *wide = like(bits, b.getInt32Ty()), *single = like(bits, b.getFloatTy());
  Value* h = b.CreateZExt(bits, wide);
  Value* magnitude = b.CreateShl(b.CreateAnd(h, int_like(wide, 0x7FFF)), int_like(wide, 13));
  // The exponent bias grows by 112; infinities and NaN get the full exponent. Denormals are normal in float32: they get
  // the exponent of 2^-14, which is then subtracted. No operation reads a denormal float, which may count as zero.
  Value* normal = b.CreateAdd(magnitude, int_like(wide, 112u << 23));
  Value* above = b.CreateBitCast(b.CreateAdd(magnitude, int_like(wide, 113u << 23)), single);
  Value* denormal = b.CreateBitCast(b.CreateFSub(above, ConstantFP::get(single, 0x1p-14)), wide);
  Value* is_denormal = b.CreateICmpULT(magnitude, int_like(wide, 0x400u << 13));
  Value* is_special = b.CreateICmpUGE(magnitude, int_like(wide, 0x7C00u << 13));
  Value* value = b.CreateSelect(is_special, b.CreateOr(magnitude, int_like(wide, 0x7F800000)),
                                b.CreateSelect(is_denormal, denormal, normal));
  Value* sign = b.CreateShl(b.CreateAnd(h, int_like(wide, 0x8000)), int_like(wide, 16));
  return b.CreateBitCast(b.CreateOr(value, sign), single);
}

// float to float16 bits, half to even.
Value* Values::half_bits(Value* v) {
  Type *wide = like(v, b.getInt32Ty()), *single = like(v, b.getFloatTy());
  Value* bits = b.CreateBitCast(v, wide);
  Value* sign = b.CreateLShr(b.CreateAnd(bits, int_like(wide, 0x80000000u)), int_like(wide, 16));
  Value* magnitude = b.CreateAnd(bits, int_like(wide, 0x7FFFFFFF));
  // Normal results: rebias by -112 and round the 13 lost bits. A carry runs into the exponent, as intended.
  Value* odd = b.CreateAnd(b.CreateLShr(magnitude, int_like(wide, 13)), int_like(wide, 1));
  Value* rebiased = b.CreateSub(magnitude, int_like(wide, 112u << 23));
  Value* normal = b.CreateLShr(b.CreateAdd(rebiased, b.CreateAdd(odd, int_like(wide, 0xFFF))), int_like(wide, 13));
  // Denormal results: adding 0.5 leaves the rounded value in the last bits.
  Value* shifted = b.CreateFAdd(b.CreateBitCast(magnitude, single), ConstantFP::get(single, 0.5));
  Value* denormal = b.CreateSub(b.CreateBitCast(shifted, wide), int_like(wide, 0x3F000000));
  Value* result = b.CreateSelect(b.CreateICmpULT(magnitude, int_like(wide, 113u << 23)), denormal, normal);
  result = b.CreateSelect(b.CreateICmpUGE(magnitude, int_like(wide, 0x477FF000)), int_like(wide, 0x7C00), result);
  result = b.CreateSelect(b.CreateICmpUGT(magnitude, int_like(wide, 0x7F800000)), int_like(wide, 0x7E00), result);
  return b.CreateTrunc(b.CreateOr(result, sign), like(v, b.getInt16Ty()));
}

Value* Values::round16(Value* v, DType t) { return is_small_float(t) ? from_memory(to_memory(v, t), t) : v; }

// A double as a float whose last bit is set if the conversion is not exact: rounding that to 16 bits yields the same as
// rounding the double directly.
Value* Values::to_odd_float(Value* v) {
  Type *wide = like(v, b.getInt32Ty()), *single = like(v, b.getFloatTy());
  Value* near = narrow(v, single);
  Value* back = b.CreateFPExt(near, v->getType());
  Value* bits = b.CreateBitCast(near, wide);
  Value* above = b.CreateFCmpOGT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                                 b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v));
  Value* down = b.CreateSub(bits, b.CreateZExt(above, wide));
  Value* inexact = b.CreateFCmpONE(back, v);
  return b.CreateBitCast(b.CreateOr(down, b.CreateZExt(inexact, wide)), single);
}

Value* Values::constant(int64_t value, DType t) const {
  return t.is_float() ? ConstantFP::get(type(t), static_cast<double>(value))
                      : static_cast<Value*>(ConstantInt::get(type(t), static_cast<uint64_t>(value), is_signed(t)));
}

Value* Values::constant(double value, DType t) const {
  double held = value;
  if (is_small_float(t)) {  // round to the grid at compile time
    llvm::APFloat f(value);
    bool lossy = false;
    f.convert(t.code == DType::Code::BFloat ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf(),
              llvm::APFloat::rmNearestTiesToEven, &lossy);
    f.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lossy);
    held = f.convertToDouble();
  }
  return ConstantFP::get(type(t), held);
}

Value* Values::splat(Value* v, int lanes) {
  return lanes == 1 || v->getType()->isVectorTy() ? v : b.CreateVectorSplat(lanes, v);
}

Value* Values::iota(Type* element, int lanes, int64_t stride) const {
  llvm::SmallVector<Constant*, 64> steps;
  for (int i = 0; i < lanes; ++i) steps.push_back(ConstantInt::get(element, static_cast<uint64_t>(i * stride), true));
  return llvm::ConstantVector::get(steps);
}

// NaN and zeros are unchanged. A comparison may count subnormal numbers as zero, so the bits decide: those of the
// magnitudes of other numbers are from 1 to those of infinity.
Value* Values::float_sign(Value* v) {
  const unsigned bits = v->getType()->getScalarSizeInBits();
  Type* integer = like(v, b.getIntNTy(bits));
  const llvm::APInt infinity = llvm::APFloat::getInf(v->getType()->getScalarType()->getFltSemantics()).bitcastToAPInt();
  Value* magnitude =
      b.CreateAnd(b.CreateBitCast(v, integer), ConstantInt::get(integer, llvm::APInt::getSignedMaxValue(bits)));
  Value* is_other = b.CreateICmpULT(b.CreateSub(magnitude, int_like(integer, 1)), ConstantInt::get(integer, infinity));
  Value* one = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, ConstantFP::get(v->getType(), 1.0), v);
  return b.CreateSelect(is_other, one, v);
}

Value* Values::unary(UnaryOp op, Value* a, DType t) {
  Type* type = a->getType();
  auto intrinsic = [&](ID id) -> Value* { return b.CreateUnaryIntrinsic(id, a); };
  Value* zero = Constant::getNullValue(type);
  bool real = t.is_float();
  switch (op) {
    case UnaryOp::Neg: return real ? b.CreateFNeg(a) : b.CreateNeg(a);
    case UnaryOp::Not:
    case UnaryOp::BitNot: return b.CreateNot(a);
    case UnaryOp::Abs:
      if (real) return intrinsic(llvm::Intrinsic::fabs);
      return is_signed(t) ? b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, b.getFalse()) : a;
    case UnaryOp::Sign:
      if (real) return float_sign(a);
      if (!is_signed(t)) return b.CreateZExt(b.CreateICmpNE(a, zero), type);
      return b.CreateSub(b.CreateZExt(b.CreateICmpSGT(a, zero), type), b.CreateZExt(b.CreateICmpSLT(a, zero), type));
    case UnaryOp::Sqrt: return round16(intrinsic(llvm::Intrinsic::sqrt), t);
    case UnaryOp::Rsqrt:
      return round16(b.CreateFDiv(ConstantFP::get(type, 1.0), round16(intrinsic(llvm::Intrinsic::sqrt), t)), t);
    case UnaryOp::Floor: return real ? intrinsic(llvm::Intrinsic::floor) : a;
    case UnaryOp::Ceil: return real ? intrinsic(llvm::Intrinsic::ceil) : a;
    case UnaryOp::Round: return real ? intrinsic(llvm::Intrinsic::roundeven) : a;
    case UnaryOp::Trunc: return real ? intrinsic(llvm::Intrinsic::trunc) : a;
    case UnaryOp::Rounded: return a;
    case UnaryOp::Sin:
    case UnaryOp::Cos:
    case UnaryOp::Tan: return far_angles(b, op, a);  // of the others, expand_math() made polynomials
    case UnaryOp::IsNan: return real ? b.CreateFCmpUNO(a, a) : Constant::getNullValue(like(a, b.getInt1Ty()));
    case UnaryOp::IsInf:
      return real ? b.CreateFCmpOEQ(intrinsic(llvm::Intrinsic::fabs), ConstantFP::getInfinity(type))
                  : static_cast<Value*>(Constant::getNullValue(like(a, b.getInt1Ty())));
    case UnaryOp::Exp:
    case UnaryOp::Expm1:
    case UnaryOp::Log:
    case UnaryOp::Log1p:
    case UnaryOp::Tanh:
    case UnaryOp::Erf:
    case UnaryOp::Erfc:
    case UnaryOp::Atan: break;
  }
  RELAY_CHECK(false, "{} of {} has no instruction; expand_math() replaces it", scalar::name(op), t.str());
}

// A NaN operand yields NaN. x86's min and max return their second operand if either is NaN, so one instruction is
// enough if the second operand may be NaN and the first cannot; otherwise it is computed in the lanes where the first
// is a number.
// Returns v if x is v with NaN replaced by the infinity that is never chosen, else null.
static Value* without_nan_as_infinity(bool max, Value* x) {
  using namespace llvm::PatternMatch;
  Value *v = nullptr, *a = nullptr, *b = nullptr;
  const llvm::APFloat* instead = nullptr;
  llvm::CmpPredicate p;
  if (!match(x, m_Select(m_FCmp(p, m_Value(a), m_Value(b)), m_Value(v), m_APFloat(instead)))) return nullptr;
  const bool is_number = p == llvm::CmpInst::FCMP_OEQ || p == llvm::CmpInst::FCMP_ORD;
  return is_number && a == v && b == v && instead->isInfinity() && instead->isNegative() == max ? v : nullptr;
}

Value* Values::float_minmax(bool max, Value* x, Value* y) {
  // A comparison with NaN is false, so one instruction ignores it.
  for (int side = 0; side < 2; ++side, std::swap(x, y))
    if (Value* v = without_nan_as_infinity(max, x))
      return b.CreateSelect(max ? b.CreateFCmpOGT(v, y) : b.CreateFCmpOLT(v, y), v, y);
  auto never_nan = [](Value* v) {
    Constant* c = llvm::dyn_cast<Constant>(v);
    if (!c) return false;
    if (c->getType()->isVectorTy()) c = c->getSplatValue();
    ConstantFP* f = llvm::dyn_cast_or_null<ConstantFP>(c);
    return f && !f->isNaN();
  };
  if (never_nan(y)) std::swap(x, y);
  Value* chosen = b.CreateSelect(max ? b.CreateFCmpOGT(x, y) : b.CreateFCmpOLT(x, y), x, y);
  if (never_nan(x)) return chosen;
  return b.CreateSelect(b.CreateFCmpORD(x, x), chosen, x);
}

// x / y for vectors, truncated towards zero, through floats that hold both exactly: vector units divide those, but
// divide integers lane by lane. A quotient below n + 1 is at least 1 / y below it, which is more than rounding moves
// it: y * (n + 1) is at most x + y, which has no more bits than the float. Null if there is no such float. y is neither
// 0 nor -1.
Value* Values::lane_quotient(Value* x, Value* y, DType t) {
  if (!x->getType()->isVectorTy() || (t.bits == 64 && !(is_signed(t) && long_lanes_to_float_))) return nullptr;
  if (t.bits == 64) {
    Value* q = long_quotient(b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b.getFalse()),
                             b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, y, b.getFalse()));
    return b.CreateSelect(b.CreateICmpSLT(b.CreateXor(x, y), Constant::getNullValue(q->getType())), b.CreateNeg(q), q);
  }
  Type* real = like(x, t.bits == 32 ? b.getDoubleTy() : b.getFloatTy());
  if (is_signed(t)) return b.CreateFPToSI(b.CreateFDiv(b.CreateSIToFP(x, real), b.CreateSIToFP(y, real)), x->getType());
  return b.CreateFPToUI(b.CreateFDiv(b.CreateUIToFP(x, real), b.CreateUIToFP(y, real)), x->getType());
}

// x / y of numbers up to 2^63: doubles provide the upper 51 bits of the quotient, the remainder is divided once more,
// and the second quotient, rounded, may be one off. No step exceeds 64 bits: if y is above 2^62 the first quotient is
// 0, 1 or 2, and for x = 2^63 it is not too small, since 1 / y is not below 2^-63.
Value* Values::long_quotient(Value* x, Value* y) {
  Type *type = x->getType(), *real = like(x, b.getDoubleTy());
  Constant *zero = Constant::getNullValue(type), *one = ConstantInt::get(type, 1);
  Value* inverse = b.CreateFDiv(ConstantFP::get(real, 1), b.CreateUIToFP(y, real));
  Value* q = b.CreateFPToUI(b.CreateFMul(b.CreateUIToFP(x, real), inverse), type);
  Value* rest = b.CreateSub(x, b.CreateMul(q, y));
  Value* more = b.CreateFPToSI(
      b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, b.CreateFMul(b.CreateSIToFP(rest, real), inverse)), type);
  q = b.CreateAdd(q, more), rest = b.CreateSub(rest, b.CreateMul(more, y));
  Value* below = b.CreateICmpSLT(rest, zero);
  q = b.CreateSelect(below, b.CreateSub(q, one), q), rest = b.CreateSelect(below, b.CreateAdd(rest, y), rest);
  return b.CreateSelect(b.CreateICmpUGE(rest, y), b.CreateAdd(q, one), q);
}

// Division never traps: x / 0 and x % 0 are 0, the least value divided by -1 is itself.
Value* Values::int_division(BinaryOp op, Value* x, Value* y, DType t, bool x_negative) {
  Type* type = x->getType();
  bool quotient = op == BinaryOp::FloorDiv || op == BinaryOp::TruncDiv;
  bool floor = op == BinaryOp::FloorDiv || op == BinaryOp::FloorMod;
  Constant* c = llvm::dyn_cast<Constant>(y);
  if (c && c->getType()->isVectorTy()) c = c->getSplatValue();
  ConstantInt* divisor = llvm::dyn_cast_or_null<ConstantInt>(c);
  Constant *zero = Constant::getNullValue(type), *one = ConstantInt::get(type, 1);
  if (divisor && divisor->isZero()) return zero;
  bool positive = divisor && divisor->getValue().isStrictlyPositive();
  // A known divisor becomes a multiplication, whose upper 64 bits no vector unit returns.
  const bool multiplies = divisor && (t.bits < 64 || divisor->getValue().abs().isPowerOf2());
  if (!is_signed(t) || (positive && !x_negative)) {
    Value* safe = divisor ? y : b.CreateSelect(b.CreateICmpEQ(y, zero), one, y);
    Value* lanes = multiplies ? nullptr : lane_quotient(x, safe, t);
    Value* result = quotient ? (lanes ? lanes : b.CreateUDiv(x, safe))
                             : (lanes ? b.CreateSub(x, b.CreateMul(lanes, safe)) : b.CreateURem(x, safe));
    return divisor || !quotient ? result : b.CreateSelect(b.CreateICmpEQ(y, zero), zero, result);
  }
  if (positive && floor && divisor->getValue().isPowerOf2()) {
    unsigned shift = divisor->getValue().logBase2();
    return quotient ? b.CreateAShr(x, int_like(type, shift)) : b.CreateAnd(x, b.CreateSub(y, one));
  }
  Value *safe = y, *special = nullptr, *minus = nullptr;
  if (!positive) {  // 0 and -1 divide by 1 instead
    special = b.CreateICmpEQ(y, zero), minus = b.CreateICmpEQ(y, Constant::getAllOnesValue(type));
    safe = b.CreateSelect(b.CreateOr(special, minus), one, y);
  }
  Value* q = multiplies ? nullptr : lane_quotient(x, safe, t);
  if (!q) q = b.CreateSDiv(x, safe);
  Value* r = b.CreateSub(x, b.CreateMul(q, safe));
  if (floor) {
    Value* adjust = b.CreateAnd(b.CreateICmpNE(r, zero), b.CreateICmpSLT(b.CreateXor(r, safe), zero));
    if (quotient)
      q = b.CreateSub(q, b.CreateZExt(adjust, type));
    else
      r = b.CreateSelect(adjust, b.CreateAdd(r, safe), r);
  }
  if (!quotient) return r;  // 0 where the divisor is 0 or -1
  if (minus) q = b.CreateSelect(special, zero, b.CreateSelect(minus, b.CreateNeg(x), q));
  return q;
}

// With m = ceil(2^s / c), x * m >> s is x / c for all x <= largest if largest * (m * c - 2^s) < 2^s (Hacker's Delight,
// 10-9). If x * m has 32 bits, that is one multiplication that every vector unit has.
Value* Values::small_division(Value* x, int64_t c, int64_t largest, bool quotient) {
  Value* q = nullptr;
  for (unsigned s = 31; s > 0 && !q; --s) {
    const int64_t power = int64_t{1} << s, m = (power + c - 1) / c, error = m * c - power;
    if (largest * m <= std::numeric_limits<uint32_t>::max() && largest * error < power)
      q = b.CreateLShr(b.CreateMul(x, int_like(x->getType(), static_cast<uint64_t>(m))), int_like(x->getType(), s));
  }
  Constant* divisor = int_like(x->getType(), static_cast<uint64_t>(c));
  if (!q) q = b.CreateUDiv(x, divisor);
  return quotient ? q : b.CreateSub(x, b.CreateMul(q, divisor));
}

// By squaring, over all bits of the exponent, so that it wraps around as repeated multiplication does. A negative
// exponent yields 1 for base 1, +-1 for base -1, else 0.
Value* Values::int_power(Value* x, Value* y, DType t) {
  Type* type = x->getType();
  Constant *zero = Constant::getNullValue(type), *one = ConstantInt::get(type, 1);
  Value *result = one, *square = x;
  unsigned bits = t.bits - (is_signed(t) ? 1 : 0);
  for (unsigned bit = 0; bit < bits; ++bit) {
    Value* set = b.CreateICmpNE(b.CreateAnd(y, int_like(type, uint64_t{1} << bit)), zero);
    result = b.CreateSelect(set, b.CreateMul(result, square), result);
    square = b.CreateMul(square, square);
  }
  if (!is_signed(t)) return result;
  Value* odd = b.CreateICmpNE(b.CreateAnd(y, one), zero);
  Value* minus = Constant::getAllOnesValue(type);
  Value* inverse = b.CreateSelect(b.CreateICmpEQ(x, one), one, zero);
  inverse = b.CreateSelect(b.CreateICmpEQ(x, minus), b.CreateSelect(odd, minus, one), inverse);
  return b.CreateSelect(b.CreateICmpSLT(y, zero), inverse, result);
}

Value* Values::fma(Value* x, Value* y, Value* z) {
  // WebAssembly has multiply-adds of vectors only, which round once or twice; a fma would be a call.
  const ID id = relaxed_ ? llvm::Intrinsic::fmuladd : llvm::Intrinsic::fma;
  return b.CreateIntrinsic(id, {x->getType()}, {x, y, z});
}

// The remainder with the sign of y, and the quotient without it: as scalar/eval.cpp has them.
Value* Values::floor_remainder(Value* x, Value* y) {
  Value *r = float_remainder(b, x, y), *zero = Constant::getNullValue(x->getType());
  Value* differ = b.CreateICmpNE(b.CreateFCmpOLT(r, zero), b.CreateFCmpOLT(y, zero));
  return b.CreateSelect(b.CreateAnd(b.CreateFCmpONE(r, zero), differ), b.CreateFAdd(r, y), r);
}

Value* Values::floor_quotient(Value* x, Value* y) {
  Type* type = x->getType();
  if (type->getScalarType()->isFloatTy()) {
    Type* wide = like(x, b.getDoubleTy());
    return narrow(floor_quotient(b.CreateFPExt(x, wide), b.CreateFPExt(y, wide)), type);
  }
  Value *r = float_remainder(b, x, y), *zero = Constant::getNullValue(type), *one = ConstantFP::get(type, 1);
  Value* differ = b.CreateICmpNE(b.CreateFCmpOLT(r, zero), b.CreateFCmpOLT(y, zero));
  Value* below = b.CreateAnd(b.CreateFCmpONE(r, zero), differ);
  Value* rounded = b.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, b.CreateFDiv(b.CreateFSub(x, r), y));
  Value *q = b.CreateSelect(below, b.CreateFSub(rounded, one), rounded), *plain = b.CreateFDiv(x, y);
  q = b.CreateSelect(b.CreateFCmpOEQ(q, zero), b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, zero, plain), q);
  return b.CreateSelect(b.CreateFCmpOEQ(y, zero), plain, q);
}

// The same as in float, rounded to float16; null if the operation has no such instruction.
Value* Values::half_binary(BinaryOp op, Value* x, Value* y) {
  Type* half = like(x, b.getHalfTy());
  auto computed = [&]() -> Value* {
    switch (op) {
      case BinaryOp::Add: return b.CreateFAdd(narrow(x, half), narrow(y, half));
      case BinaryOp::Sub: return b.CreateFSub(narrow(x, half), narrow(y, half));
      case BinaryOp::Mul: return b.CreateFMul(narrow(x, half), narrow(y, half));
      case BinaryOp::Div: return b.CreateFDiv(narrow(x, half), narrow(y, half));
      case BinaryOp::Min:
      case BinaryOp::Max: return float_minmax(op == BinaryOp::Max, narrow(x, half), narrow(y, half));
      default: return nullptr;
    }
  };
  Value* result = computed();
  return result ? b.CreateFPExt(result, x->getType()) : nullptr;
}

Value* Values::binary(BinaryOp op, Value* x, Value* y, DType t, bool x_negative) {
  if (half_arithmetic_ && t.element() == DType::float16())
    if (Value* result = half_binary(op, x, y)) return result;
  bool real = t.is_float(), sign = is_signed(t), logic = t.is_bool();
  Type* type = x->getType();
  switch (op) {
    case BinaryOp::Add: return real ? round16(b.CreateFAdd(x, y), t) : logic ? b.CreateOr(x, y) : b.CreateAdd(x, y);
    case BinaryOp::Sub: return real ? round16(b.CreateFSub(x, y), t) : b.CreateSub(x, y);
    case BinaryOp::Mul: return real ? round16(b.CreateFMul(x, y), t) : logic ? b.CreateAnd(x, y) : b.CreateMul(x, y);
    case BinaryOp::Div:
      return real ? round16(b.CreateFDiv(x, y), t) : int_division(BinaryOp::TruncDiv, x, y, t, x_negative);
    case BinaryOp::FloorDiv:
    case BinaryOp::FloorMod:
      if (!real) return int_division(op, x, y, t, x_negative);
      return round16(op == BinaryOp::FloorDiv ? floor_quotient(x, y) : floor_remainder(x, y), t);
    case BinaryOp::TruncDiv:
      if (!real) return int_division(op, x, y, t, x_negative);
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, round16(b.CreateFDiv(x, y), t));
    case BinaryOp::TruncMod:
      if (!real) return int_division(op, x, y, t, x_negative);
      return round16(float_remainder(b, x, y), t);
    case BinaryOp::Min:
    case BinaryOp::Max: {
      bool max = op == BinaryOp::Max;
      if (real) return float_minmax(max, x, y);
      if (logic) return max ? b.CreateOr(x, y) : b.CreateAnd(x, y);
      return b.CreateBinaryIntrinsic(sign ? (max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin)
                                          : (max ? llvm::Intrinsic::umax : llvm::Intrinsic::umin),
                                     x, y);
    }
    case BinaryOp::Pow:
      RELAY_CHECK(!real, "power of {} has no instruction; expand_math() replaces it", t.str());
      return int_power(x, y, t);
    case BinaryOp::And:
    case BinaryOp::BitAnd: return b.CreateAnd(x, y);
    case BinaryOp::Or:
    case BinaryOp::BitOr: return b.CreateOr(x, y);
    case BinaryOp::BitXor: return b.CreateXor(x, y);
    case BinaryOp::Eq: return real ? b.CreateFCmpOEQ(x, y) : b.CreateICmpEQ(x, y);
    case BinaryOp::Ne: return real ? b.CreateFCmpUNE(x, y) : b.CreateICmpNE(x, y);
    case BinaryOp::Lt: return real ? b.CreateFCmpOLT(x, y) : sign ? b.CreateICmpSLT(x, y) : b.CreateICmpULT(x, y);
    case BinaryOp::Le: return real ? b.CreateFCmpOLE(x, y) : sign ? b.CreateICmpSLE(x, y) : b.CreateICmpULE(x, y);
    case BinaryOp::Shl:
    case BinaryOp::Shr: {  // shifting by the width or more shifts everything out
      const llvm::APInt* mask = nullptr;
      if (llvm::PatternMatch::match(y, llvm::PatternMatch::m_And(llvm::PatternMatch::m_Value(),
                                                                 llvm::PatternMatch::m_APInt(mask))) &&
          mask->ult(t.bits)) {  // never that large
        if (op == BinaryOp::Shl) return b.CreateShl(x, y);
        return sign ? b.CreateAShr(x, y) : b.CreateLShr(x, y);
      }
      Value* inside = b.CreateICmpULT(y, int_like(type, t.bits));
      Value* last = int_like(type, t.bits - 1);
      Value* amount = b.CreateSelect(inside, y, last);
      if (op == BinaryOp::Shr && sign) return b.CreateAShr(x, amount);
      Value* shifted = op == BinaryOp::Shl ? b.CreateShl(x, amount) : b.CreateLShr(x, amount);
      return b.CreateSelect(inside, shifted, Constant::getNullValue(type));
    }
  }
  return nullptr;
}

Value* Values::reinterpret(Value* v, DType from, DType to) {
  return from_memory(b.CreateBitCast(to_memory(v, from), memory_type(to)), to);
}

Value* Values::cast(Value* v, DType from, DType to) {
  if (from == to) return v;
  Type* target = type(to.with_lanes(from.lanes));
  Constant* zero = Constant::getNullValue(v->getType());
  if (to.is_bool()) return from.is_float() ? b.CreateFCmpUNE(v, zero) : b.CreateICmpNE(v, zero);
  if (!from.is_float() && !to.is_float())
    return is_signed(from) ? b.CreateSExtOrTrunc(v, target) : b.CreateZExtOrTrunc(v, target);
  if (!from.is_float()) {
    if (is_small_float(to) && from.bits > 16) {  // through double, exact for all but the largest 64-bit integers
      Type* wide = like(v, b.getDoubleTy());
      Value* exact = is_signed(from) ? b.CreateSIToFP(v, wide) : b.CreateUIToFP(v, wide);
      return round16(to_odd_float(exact), to);
    }
    return round16(is_signed(from) ? b.CreateSIToFP(v, target) : b.CreateUIToFP(v, target), to);
  }
  if (to.is_float()) {
    if (from.bits == 64 && to.bits == 32) return narrow(v, target);
    if (from.bits == 64 && to.bits == 16) return round16(to_odd_float(v), to);
    if (to.bits == 64) return b.CreateFPExt(v, target);
    return round16(v, to);
  }
  return float_to_int(v, from, to);
}

// True for a whole number of few bits: a constant, or a short integer that was converted.
static bool is_small_whole(Value* v) {
  using namespace llvm::PatternMatch;
  const llvm::APFloat* known = nullptr;
  if (match(v, m_APFloat(known))) {
    const double number = known->convertToDouble();
    return number == std::round(number) && std::abs(number) <= UINT8_MAX;
  }
  Value *scalar = llvm::getSplatValue(v), *integer = nullptr, *narrow = nullptr;
  if (!match(scalar ? scalar : v, m_CombineOr(m_SIToFP(m_Value(integer)), m_UIToFP(m_Value(integer))))) return false;
  if (match(integer, m_ZExtOrSExt(m_Value(narrow)))) integer = narrow;
  return integer->getType()->getScalarSizeInBits() <= 16;
}

// Bytes of roundeven(x) or of roundeven(x) + zero point, saturated, with 0 for NaN: x is saturated first, so that the
// conversion may round. Null if v has another form.
Value* Values::rounded_to_byte(Value* v, DType from, DType to) {
  if (!rounds_to_integers_ || from.bits != 32 || to.bits != 8) return nullptr;
  using namespace llvm::PatternMatch;
  Value *x = nullptr, *zero_point = nullptr;
  if (!match(v, m_FAdd(m_Intrinsic<llvm::Intrinsic::roundeven>(m_Value(x)), m_Value(zero_point))) &&
      !match(v, m_Intrinsic<llvm::Intrinsic::roundeven>(m_Value(x))))
    return nullptr;
  if (!zero_point) zero_point = Constant::getNullValue(x->getType());
  if (!is_small_whole(zero_point)) return nullptr;
  auto minus_zero_point = [&](double value) { return b.CreateFSub(ConstantFP::get(x->getType(), value), zero_point); };
  Value *low = minus_zero_point(is_signed(to) ? INT8_MIN : 0),
        *high = minus_zero_point(is_signed(to) ? INT8_MAX : UINT8_MAX);
  if (is_signed(to)) x = b.CreateSelect(b.CreateFCmpUNO(x, x), minus_zero_point(0), x);
  x = b.CreateSelect(b.CreateFCmpOGT(x, low), x, low);  // the bound for NaN
  x = b.CreateSelect(b.CreateFCmpOLT(x, high), x, high);
  Type* wide = like(x, b.getInt32Ty());
  Value* i = b.CreateIntrinsic(llvm::Intrinsic::lrint, {wide, x->getType()}, {x});
  return b.CreateTrunc(b.CreateAdd(i, b.CreateFPToSI(zero_point, wide)), type(to.with_lanes(from.lanes)));
}

// Truncates towards zero, saturates, and converts NaN to 0. LLVM's intrinsics for it work element by element.
Value* Values::float_to_int(Value* v, DType from, DType to) {
  if (Value* byte = rounded_to_byte(v, from, to)) return byte;
  Type* target = type(to.with_lanes(from.lanes));
  const int digits = to.bits - is_signed(to), exact = from.bits == 64 ? 53 : 24;
  const double low = is_signed(to) ? -std::ldexp(1, digits) : 0;
  // The largest number of the float that the integer can hold.
  const double high = std::ldexp(1, digits) - std::ldexp(1, std::max(digits - exact, 0));
  Value* number = v;
  if (is_signed(to)) {
    number = b.CreateSelect(b.CreateFCmpUNO(v, v), Constant::getNullValue(v->getType()), v);
    number = float_minmax(true, number, ConstantFP::get(v->getType(), low));
  } else {  // the maximum of NaN and 0 is 0, in one instruction
    Constant* zero = Constant::getNullValue(v->getType());
    number = b.CreateSelect(b.CreateFCmpOGT(v, zero), v, zero);
  }
  number = float_minmax(false, number, ConstantFP::get(v->getType(), high));
  if (to.bits <= 16) return b.CreateTrunc(b.CreateFPToSI(number, like(v, b.getInt32Ty())), target);
  Value* inside = is_signed(to) ? b.CreateFPToSI(number, target) : b.CreateFPToUI(number, target);
  if (digits <= exact) return inside;
  Value* beyond = b.CreateFCmpOGT(v, ConstantFP::get(v->getType(), high));
  const llvm::APInt greatest =
      is_signed(to) ? llvm::APInt::getSignedMaxValue(to.bits) : llvm::APInt::getMaxValue(to.bits);
  return b.CreateSelect(beyond, llvm::ConstantInt::get(target, greatest), inside);
}

}  // namespace relay::codegen
