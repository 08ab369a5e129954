#include "relay/frontend/onnx/elements.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace relay::onnx {

using ir::Expr;

namespace {

// A float of at most 8 bits: sign, exponent, `mantissa` bits.
struct Format {
  ElementType type;
  int bits, mantissa;
  int min_exponent;  // of normal numbers
  int greatest;      // the code of the greatest finite number
  int beyond, nan;   // the codes of what is greater, and of NaN
  bool one_zero;     // there is no negative zero: its code is NaN
};
constexpr Format formats[] = {
    {ElementType::Float8E4M3FN, 8, 3, -6, 0x7e, 0x7f, 0x7f, false},
    {ElementType::Float8E4M3FNUZ, 8, 3, -7, 0x7f, 0x80, 0x80, true},
    {ElementType::Float8E5M2, 8, 2, -14, 0x7b, 0x7c, 0x7e, false},
    {ElementType::Float8E5M2FNUZ, 8, 2, -15, 0x7f, 0x80, 0x80, true},
    {ElementType::Float4E2M1, 4, 1, 0, 0x7, 0x7, 0x8, false},
};

const Format* format_of(int32_t type) {
  for (const Format& f : formats)
    if (static_cast<int32_t>(f.type) == type) return &f;
  return nullptr;
}

float number_of(const Format& f, int code) {
  const int sign_bit = 1 << (f.bits - 1), magnitude = code & (sign_bit - 1);
  const bool negative = (code & sign_bit) != 0;
  if (f.one_zero && negative && magnitude == 0) return std::numeric_limits<float>::quiet_NaN();
  if (magnitude > f.greatest)
    return magnitude == f.beyond && f.beyond != f.nan ? (negative ? -INFINITY : INFINITY)
                                                      : std::numeric_limits<float>::quiet_NaN();
  const int exponent = magnitude >> f.mantissa, rest = magnitude & ((1 << f.mantissa) - 1);
  const int digits = exponent == 0 ? rest : rest + (1 << f.mantissa);
  const float value = std::ldexp(static_cast<float>(digits), f.min_exponent - f.mantissa + std::max(exponent - 1, 0));
  return negative ? -value : value;
}

// The value of each code of a byte.
Tensor table_of(int32_t type) {
  Tensor table = Tensor::empty({256}, DType::float32());
  const Format* f = format_of(type);
  for (int code = 0; code < 256; ++code)
    table.set(code, f             ? number_of(*f, code & ((1 << f->bits) - 1))
                    : code == 255 ? std::numeric_limits<float>::quiet_NaN()
                                  : std::ldexp(1.0, code - 127));
  return table;
}

Expr number(Convert& c, int64_t value) { return c.scalar(static_cast<double>(value), DType::int32()); }

Expr encoded_float(Convert& c, const Expr& numbers, const Format& f, bool saturate) {
  auto call = [&](const char* op, const Expr& a, int64_t b) { return c.emit(op, {a, number(c, b)}); };
  const Expr bits = c.emit("reinterpret", {c.cast(numbers, DType::float32())}, {{"dtype", DType::int32()}});
  const Expr all = call("bitwise_and", bits, 0x7fffffff);
  // What is far beyond the greatest number may be 2^17 as well.
  const Expr some = call("minimum", all, 0x48000000);
  const Expr exponent = call("maximum", call("subtract", call("right_shift", some, 23), 127), f.min_exponent);
  // 2^(mantissa - exponent): how many codes there are to 1.
  const Expr codes = c.emit("reinterpret", {call("left_shift", c.subtract(number(c, f.mantissa + 127), exponent), 23)},
                            {{"dtype", DType::float32()}});
  const Expr steps = c.emit("round", {c.multiply(c.emit("reinterpret", {some}, {{"dtype", DType::float32()}}), codes)});
  Expr code =
      c.add(call("left_shift", call("subtract", exponent, f.min_exponent), f.mantissa), c.cast(steps, DType::int32()));
  code = c.emit("where", {call("greater", code, f.greatest), number(c, saturate ? f.greatest : f.beyond), code});
  code = c.emit("where", {call("greater", all, 0x7f800000), number(c, f.nan), code});
  const int sign_bit = 1 << (f.bits - 1);
  const Expr negative = call("less", bits, 0);
  Expr sign = c.emit("where", {negative, number(c, sign_bit), number(c, 0)});
  if (f.one_zero) sign = c.emit("where", {call("equal", code, 0), number(c, 0), sign});
  return c.cast(c.emit("bitwise_or", {code, sign}), DType::uint8());
}

// A power of two: the exponent alone.
Expr encoded_power(Convert& c, const Expr& numbers, bool saturate, const std::string& rounding) {
  if (rounding != "up" && rounding != "down" && rounding != "nearest")
    return c.bad("round_mode is '{}', not up, down or nearest", rounding);
  auto call = [&](const char* op, const Expr& a, int64_t b) { return c.emit(op, {a, number(c, b)}); };
  const Expr bits = c.emit("reinterpret", {c.cast(numbers, DType::float32())}, {{"dtype", DType::int32()}});
  const Expr rest = call("bitwise_and", bits, 0x7fffff);
  Expr code = call("right_shift", call("bitwise_and", bits, 0x7fffffff), 23);
  // Subnormal numbers up to 2^-127 have code 0.
  const Expr below = c.emit("where", {call("equal", code, 0), number(c, 0x400000), number(c, 0)});
  Expr up = c.emit("greater", {rest, below});
  if (rounding == "nearest") up = call("greater_equal", rest, 0x400000);
  if (rounding != "down") code = c.add(code, c.cast(up, DType::int32()));
  const Expr finite = c.emit("minimum", {code, number(c, saturate ? 254 : 255)});
  const Expr wrong = c.emit("logical_or", {call("less", bits, 0), call("greater", bits, 0x7f800000)});
  return c.cast(c.emit("where", {wrong, number(c, 255), finite}), DType::uint8());
}

int integer_bits(int32_t type) {
  switch (static_cast<ElementType>(type)) {
    case ElementType::UInt4:
    case ElementType::Int4: return 4;
    case ElementType::UInt2:
    case ElementType::Int2: return 2;
    default: return 0;
  }
}
bool is_signed(int32_t type) {
  return type == static_cast<int32_t>(ElementType::Int4) || type == static_cast<int32_t>(ElementType::Int2);
}

}  // namespace

// Strings can be moved about, compared and looked up.
static Carries carries_strings(std::string_view op) {
  static constexpr std::string_view moving[] = {"ArrayFeatureExtractor",
                                                "Compress",
                                                "Concat",
                                                "Expand",
                                                "Flatten",
                                                "Gather",
                                                "GatherElements",
                                                "GatherND",
                                                "Identity",
                                                "Reshape",
                                                "Slice",
                                                "Split",
                                                "Squeeze",
                                                "Tile",
                                                "Transpose",
                                                "Unsqueeze",
                                                "Where"};
  static constexpr std::string_view knowing[] = {"CategoryMapper", "Equal", "LabelEncoder",   "OneHotEncoder",
                                                 "Shape",          "Size",  "TfIdfVectorizer"};
  if (std::find(std::begin(moving), std::end(moving), op) != std::end(moving)) return Carries::Moves;
  return std::find(std::begin(knowing), std::end(knowing), op) != std::end(knowing) ? Carries::Knows : Carries::Refuses;
}

Carries carries(std::string_view domain, std::string_view op, int32_t type) {
  if (type == static_cast<int32_t>(ElementType::String)) return carries_strings(op);
  static constexpr std::string_view moving[] = {"Concat", "Expand", "Flatten", "Gather", "Identity",  "Reshape",
                                                "Slice",  "Split",  "Squeeze", "Tile",   "Transpose", "Unsqueeze"};
  static constexpr std::string_view knowing[] = {"BitCast",        "Cast",  "CastLike", "DequantizeLinear",
                                                 "QuantizeLinear", "Shape", "Size"};
  if (!domain.empty()) return Carries::Refuses;
  if (std::find(std::begin(moving), std::end(moving), op) != std::end(moving)) return Carries::Moves;
  return std::find(std::begin(knowing), std::end(knowing), op) != std::end(knowing) ? Carries::Knows : Carries::Refuses;
}

bool is_carried_integer(int32_t type) { return integer_bits(type) != 0; }

std::pair<double, double> carried_range(int32_t type) {
  const double steps = std::ldexp(1.0, integer_bits(type));
  return is_signed(type) ? std::pair(-steps / 2, steps / 2 - 1) : std::pair(0.0, steps - 1);
}

Expr decoded(Convert& c, const Expr& bytes, int32_t type) {
  if (is_carried_integer(type)) return bytes;
  return c.emit("take", {c.constant(table_of(type)), c.cast(bytes, DType::int32())},
                {{"axis", int64_t{0}}, {"mode", "clip"}});
}

Expr encoded(Convert& c, const Expr& numbers, int32_t type, bool saturate, const std::string& rounding) {
  if (const Format* f = format_of(type)) return encoded_float(c, numbers, *f, saturate);
  if (!is_carried_integer(type)) return encoded_power(c, numbers, saturate, rounding);
  const int bits = integer_bits(type);
  Expr low = c.emit("bitwise_and", {c.cast(numbers, DType::int32()), number(c, (1 << bits) - 1)});
  if (!is_signed(type)) return c.cast(low, DType::uint8());
  const Expr half = number(c, 1 << (bits - 1));
  return c.cast(c.subtract(c.emit("bitwise_xor", {low, half}), half), DType::int8());
}

}  // namespace relay::onnx
