#include "relay/tensor/storage.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace relay {

using Code = DType::Code;

static constexpr StorageFloat floats[] = {
    {Code::E4M3FN, 8, 3, -6, 0x7e, 0x7f, 0x7f, false},      {Code::E4M3FNUZ, 8, 3, -7, 0x7f, 0x80, 0x80, true},
    {Code::E5M2, 8, 2, -14, 0x7b, 0x7c, 0x7e, false},       {Code::E5M2FNUZ, 8, 2, -15, 0x7f, 0x80, 0x80, true},
    {Code::E4M3, 8, 3, -6, 0x77, 0x78, 0x7c, false},        {Code::E3M4, 8, 4, -2, 0x6f, 0x70, 0x78, false},
    {Code::E4M3B11FNUZ, 8, 3, -10, 0x7f, 0x80, 0x80, true}, {Code::E2M3FN, 6, 3, 0, 0x1f, 0x1f, 0x20, false},
    {Code::E3M2FN, 6, 2, -2, 0x1f, 0x1f, 0x20, false},      {Code::E2M1FN, 4, 1, 0, 0x7, 0x7, 0x8, false},
};

const StorageFloat* storage_float(DType dtype) {
  for (const StorageFloat& f : floats)
    if (f.code == dtype.code) return &f;
  return nullptr;
}

bool is_storage_integer(DType dtype) { return dtype.code >= Code::Int4 && dtype.code <= Code::UInt2; }

static bool is_signed(DType dtype) { return dtype.code == Code::Int4 || dtype.code == Code::Int2; }

static double number_of(const StorageFloat& f, int code) {
  const int sign_bit = 1 << (f.bits - 1), magnitude = code & (sign_bit - 1);
  const bool negative = (code & sign_bit) != 0;
  if (f.no_minus_zero && negative && magnitude == 0) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude > f.greatest) {
    const bool infinite = magnitude == f.overflow && f.overflow != f.nan;
    const double special =
        infinite ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    return negative ? -special : special;
  }
  const int exponent = magnitude >> f.mantissa, rest = magnitude & ((1 << f.mantissa) - 1);
  const int digits = exponent == 0 ? rest : rest + (1 << f.mantissa);
  const double value = std::ldexp(digits, f.min_exponent - f.mantissa + std::max(exponent - 1, 0));
  return negative ? -value : value;
}

double from_storage(DType dtype, uint8_t byte) {
  const int mask = (1 << dtype.width()) - 1, code = byte & mask;
  if (const StorageFloat* f = storage_float(dtype)) return number_of(*f, code);
  if (dtype.code == Code::E8M0FNU)
    return code == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, code - 127);
  const int half = (mask + 1) / 2;
  return is_signed(dtype) && code >= half ? code - mask - 1 : code;
}

static int code_of(const StorageFloat& f, double value) {
  const int sign = std::signbit(value) ? 1 << (f.bits - 1) : 0;
  if (std::isnan(value)) return f.no_minus_zero ? f.nan : f.nan | sign;
  const double magnitude = std::abs(value);
  const int exponent = magnitude == 0 ? f.min_exponent : std::max(std::ilogb(magnitude), f.min_exponent);
  int code = f.greatest;
  if (magnitude < 0x1p18) {
    const double steps = std::nearbyint(std::ldexp(magnitude, f.mantissa - exponent));
    code = std::min(((exponent - f.min_exponent) << f.mantissa) + static_cast<int>(steps), f.greatest);
  }
  return f.no_minus_zero && code == 0 ? 0 : code | sign;
}

uint8_t to_storage(DType dtype, double value) {
  if (const StorageFloat* f = storage_float(dtype)) return static_cast<uint8_t>(code_of(*f, value));
  if (dtype.code == Code::E8M0FNU) {
    if (std::isnan(value) || std::signbit(value)) return 255;
    if (value <= 0x1p-127) return 0;
    const int exponent = std::isinf(value) ? 127 : std::ilogb(value);
    const bool above = !std::isinf(value) && std::ldexp(1.0, exponent) < value;
    return static_cast<uint8_t>(std::min(exponent + (above ? 1 : 0) + 127, 254));
  }
  if (std::isnan(value)) return 0;
  const double steps = 1 << dtype.width(), low = is_signed(dtype) ? -steps / 2 : 0;
  const double number = std::trunc(std::clamp(value, low, low + steps - 1));
  return static_cast<uint8_t>(static_cast<int>(number) & ((1 << dtype.width()) - 1));
}

}  // namespace relay
