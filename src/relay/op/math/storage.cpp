#include "relay/op/math/storage.h"

#include <limits>

#include "relay/tensor/storage.h"

namespace relay::op {

namespace {

// A float type and the integer of its width, for arithmetic on the bits.
struct Wide {
  DType real, integer;
  int mantissa, bias;
  Expr number(int64_t v) const { return imm(v, integer); }
  Expr bits(const Expr& x) const { return scalar::reinterpret(integer, x); }
  Expr value(const Expr& b) const { return scalar::reinterpret(real, b); }
  // 2^e
  Expr power(const Expr& e) const { return value(shifted_left(e + number(bias), mantissa)); }
  Expr shifted_left(const Expr& x, int n) const { return scalar::binary(BinaryOp::Shl, x, number(n)); }
  Expr shifted_right(const Expr& x, int n) const { return scalar::binary(BinaryOp::Shr, x, number(n)); }
};

Wide wide_of(DType dtype) {
  if (dtype == DType::float64()) return {dtype, DType::int64(), 52, 1023};
  return {DType::float32(), DType::int32(), 23, 127};
}

Expr bit_and(const Expr& a, const Expr& b) { return scalar::binary(BinaryOp::BitAnd, a, b); }
Expr bit_or(const Expr& a, const Expr& b) { return scalar::binary(BinaryOp::BitOr, a, b); }

Expr decoded_float(const Expr& code, const StorageFloat& f) {
  const Wide w = wide_of(DType::float32());
  auto n = [&](int64_t v) { return w.number(v); };
  const int sign_bit = 1 << (f.bits - 1);
  const Expr magnitude = bit_and(code, n(sign_bit - 1));
  const Expr exponent = w.shifted_right(magnitude, f.mantissa), rest = bit_and(magnitude, n((1 << f.mantissa) - 1));
  const Expr digits = select(eq(exponent, n(0)), rest, rest + n(1 << f.mantissa));
  Expr value = cast(w.real, digits) * w.power(max(exponent - n(1), n(0)) + n(f.min_exponent - f.mantissa));
  const Expr nan = scalar::fimm(std::numeric_limits<double>::quiet_NaN(), w.real);
  if (f.greatest < sign_bit - 1) {
    const Expr infinity = scalar::fimm(std::numeric_limits<double>::infinity(), w.real);
    const Expr special = f.overflow == f.nan ? nan : select(eq(magnitude, n(f.overflow)), infinity, nan);
    value = select(lt(n(f.greatest), magnitude), special, value);
  }
  value = select(le(n(sign_bit), code), unary(UnaryOp::Neg, value), value);
  return f.no_minus_zero ? select(eq(code, n(sign_bit)), nan, value) : value;
}

Expr encoded_float(const Expr& x, const StorageFloat& f, bool saturate) {
  const Wide w = wide_of(x->dtype);
  auto n = [&](int64_t v) { return w.number(v); };
  const Expr bits = w.bits(x), all = bit_and(bits, n(w.mantissa == 23 ? INT32_MAX : INT64_MAX));
  // Values far beyond the greatest one may be replaced by 2^17.
  const Expr some = min(all, n(static_cast<int64_t>(17 + w.bias) << w.mantissa));
  const Expr exponent = max(w.shifted_right(some, w.mantissa) - n(w.bias), n(f.min_exponent));
  const Expr steps = unary(UnaryOp::Round, w.value(some) * w.power(n(f.mantissa) - exponent));
  Expr code = w.shifted_left(exponent - n(f.min_exponent), f.mantissa) + cast(w.integer, steps);
  code = select(lt(n(f.greatest), code), n(saturate ? f.greatest : f.overflow), code);
  const int64_t infinity = static_cast<int64_t>(2 * w.bias + 1) << w.mantissa;
  code = select(lt(n(infinity), all), n(f.nan), code);
  Expr sign = select(lt(bits, n(0)), n(1 << (f.bits - 1)), n(0));
  if (f.no_minus_zero) sign = select(eq(code, n(0)), n(0), sign);
  return bit_or(code, sign);
}

Expr encoded_power(const Expr& x, const StorageRounding& rounding) {
  const Wide w = wide_of(DType::float32());
  auto n = [&](int64_t v) { return w.number(v); };
  const Expr bits = w.bits(cast(w.real, x)), rest = bit_and(bits, n(0x7fffff));
  Expr code = w.shifted_right(bit_and(bits, n(0x7fffffff)), 23);
  // Subnormal values up to 2^-127 have code 0.
  const Expr below = select(eq(code, n(0)), n(0x400000), n(0));
  const Expr up = rounding.power == "nearest" ? le(n(0x400000), rest) : lt(below, rest);
  if (rounding.power != "down") code = code + select(up, n(1), n(0));
  const Expr finite = min(code, n(rounding.saturate ? 254 : 255));
  const Expr wrong = logical_or(lt(bits, n(0)), lt(n(0x7f800000), bits));
  return select(wrong, n(255), finite);
}

// The significant bits as int32.
Expr code_of(const Expr& element) {
  const Expr code = cast(DType::int32(), scalar::reinterpret(DType::uint8(), element));
  const int width = element->dtype.width();
  return width == 8 ? code : bit_and(code, imm((1 << width) - 1, DType::int32()));
}

}  // namespace

Expr storage_bits(const Expr& element) { return cast(DType::uint8(), code_of(element)); }
Expr storage_of_bits(const Expr& bits, DType dtype) { return scalar::reinterpret(dtype, cast(DType::uint8(), bits)); }

Expr storage_value(const Expr& element) {
  const DType t = element->dtype;
  const Expr code = code_of(element);
  if (const StorageFloat* f = storage_float(t)) return decoded_float(code, *f);
  if (t.code == DType::Code::E8M0FNU) {
    const Wide w = wide_of(DType::float32());
    const Expr nan = scalar::fimm(std::numeric_limits<double>::quiet_NaN(), w.real);
    const Expr power = w.value(select(eq(code, w.number(0)), w.number(0x400000), w.shifted_left(code, 23)));
    return select(eq(code, w.number(255)), nan, power);  // 2^-127 is subnormal
  }
  if (t.code == DType::Code::UInt4 || t.code == DType::Code::UInt2) return code;
  const Expr above = imm(32 - t.width(), DType::int32());  // bits; a shift back down copies the sign into them
  return scalar::binary(BinaryOp::Shr, scalar::binary(BinaryOp::Shl, code, above), above);
}

Expr storage_element(const Expr& value, DType dtype, const StorageRounding& rounding) {
  const DType from = value->dtype;
  if (is_storage_integer(dtype)) {
    const DType i32 = DType::int32();
    const int steps = 1 << dtype.width();
    Expr x = value;
    if (from.is_float()) {
      const int low = dtype.code == DType::Code::Int4 || dtype.code == DType::Code::Int2 ? -steps / 2 : 0;
      x = max(min(cast(i32, value), imm(low + steps - 1, i32)), imm(low, i32));
    } else {
      x = cast(i32, value);
    }
    return storage_of_bits(bit_and(x, imm(steps - 1, i32)), dtype);
  }
  const bool through_double = from == DType::float64() || (from.is_int() && from.bits > 16);
  const Expr x = cast(through_double ? DType::float64() : DType::float32(), value);
  const StorageFloat* f = storage_float(dtype);
  return storage_of_bits(f ? encoded_float(x, *f, rounding.saturate) : encoded_power(x, rounding), dtype);
}

}  // namespace relay::op
