// Quantised functions of one operand, or of two of 8 bits, as tables of their values for all integers of the operands.
#include <algorithm>
#include <array>
#include <cmath>

#include "relay/frontend/tflite/fixed_point.h"
#include "relay/frontend/tflite/quantize.h"

namespace relay::tflite {

using ir::Expr;

// The elements of a table, whose first is that of the least integer of input 0.
static Expr looked_up(Convert& c, Tensor table, const Scale& in) {
  const Expr places = c.subtract(c.cast(c.input(0), DType::int32()), zero_point(c, range_of(in.dtype).first));
  return c.emit("take", {c.constant(std::move(table)), places}, {{"axis", int64_t{0}}, {"mode", "clip"}});
}

static bool expect_narrow(Convert& c, const Scale& in, const Scale& out) {
  if ((in.dtype.bits == 8 || in.dtype == DType::int16()) && out.dtype.bits <= 16) return true;
  c.unsupported("quantised data of {} with a result of {}", in.dtype.str(), out.dtype.str());
  return false;
}

static bool expect_signed(Convert& c, const Scale& in, const Scale& out) {
  const bool is_wide = in.dtype == DType::int16();
  if ((!is_wide && in.dtype != DType::int8()) || out.dtype != in.dtype) {
    c.unsupported("quantised data of {} with a result of {}", in.dtype.str(), out.dtype.str());
    return false;
  }
  if (!is_wide || (in.zero == 0 && out.zero == 0)) return true;
  c.unsupported("data of int16 with zero points {} and {}", in.zero, out.zero);
  return false;
}

Expr quantized_table(Convert& c, function_ref<int64_t(int64_t)> f) {
  const std::optional<Scale> in = scale_of(c, c.input_entry(0)), out = scale_of(c, c.output_entry(0));
  if (!in || !out || !expect_narrow(c, *in, *out)) return nullptr;
  const auto [first, last] = range_of(in->dtype);
  const auto [least, most] = range_of(out->dtype);
  Tensor table = Tensor::empty({last - first + 1}, out->dtype);
  for (int64_t i = first; i <= last; ++i)
    table.set_int(i - first, std::clamp(f(i - in->zero) + out->zero, least, most));
  return looked_up(c, std::move(table), *in);
}

namespace {

// LiteRT's table of a function for int16: its values, in units of the result, at 513 places, each moved by half of the
// error that the line to the next one has in the middle. It is computed in float or in double.
struct WideTable {
  int16_t values[513];

  template <class Real>
  WideTable(Real low, Real high, Real units, function_ref<Real(Real)> f) {
    const Real step = (high - low) / 512, half = step / 2;
    auto fitting = [](Real value) { return static_cast<int16_t>(std::clamp<Real>(value, INT16_MIN, INT16_MAX)); };
    for (int i = 0; i < 512; ++i) {
      const Real at = low + static_cast<Real>(i) * step;
      const Real value = f(at) * units, next = f(low + static_cast<Real>(i + 1) * step) * units;
      const Real line = std::round((next + std::round(value)) / 2), middle = std::round(f(at + half) * units);
      values[i] = fitting(std::round(value) - std::round((line - middle) / 2));
    }
    values[512] = fitting(std::round(f(high) * units));
  }
  int64_t at(int64_t x) const {
    const int64_t base = values[256 + (x >> 7)], slope = values[257 + (x >> 7)] - base;
    return base + ((slope * (x & 127) + 64) >> 7);
  }
};

}  // namespace

Expr quantized_function(Convert& c, function_ref<float(float)> f) {
  const std::optional<Scale> in = scale_of(c, c.input_entry(0)), out = scale_of(c, c.output_entry(0));
  if (!in || !out || !expect_narrow(c, *in, *out)) return nullptr;
  const auto [first, last] = range_of(in->dtype);
  const auto [least, most] = range_of(out->dtype);
  Tensor table = Tensor::empty({last - first + 1}, out->dtype);
  if (in->dtype.bits == 16) {
    auto real = [&](int64_t i) { return in->scale * static_cast<float>(i - in->zero); };
    const float range =
        out->scale * static_cast<float>(most - out->zero) - out->scale * static_cast<float>(least - out->zero);
    const WideTable wide(real(first), real(last), 65536.0F / range, f);
    for (int64_t i = first; i <= last; ++i) table.set_int(i - first, wide.at(i));
    return looked_up(c, std::move(table), *in);
  }
  for (int64_t i = first; i <= last; ++i) {
    const float real = in->scale * static_cast<float>(i - in->zero);
    const double steps = std::clamp<double>(std::round(f(real) * (1.0F / out->scale)), -1e9, 1e9);
    table.set_int(i - first, std::clamp(static_cast<int64_t>(steps) + out->zero, least, most));
  }
  return looked_up(c, std::move(table), *in);
}

// --- sigmoid and tanh of int16 ---------------------------------------------------------------------------------------

// Sigmoid(i / 24) in units of 2^-16, moved by half of the error that the line to the next value has in the middle.
static std::array<int64_t, 256> sigmoid_table() {
  std::array<int64_t, 256> table{};
  auto value = [](double i) { return 65536 / (1 + std::exp(-i / 24)); };
  for (int i = 0; i < 255; ++i)
    table[static_cast<size_t>(i)] = std::llround(value(i) + (value(i + 0.5) - (value(i) + value(i + 1)) / 2) / 2);
  table[255] = 65535;
  return table;
}

// Lines between the values of a table. tanh(x) = 2 sigmoid(2 x) - 1.
Expr quantized_sigmoid(Convert& c, bool tanh) {
  const std::optional<Scale> in = scale_of(c, c.input_entry(0)), out = scale_of(c, c.output_entry(0));
  if (!in || !out) return nullptr;
  if (in->dtype != DType::int16() || out->dtype != DType::int16() || in->zero != 0 || out->zero != 0)
    return c.unsupported("data of {} with zero point {}", in->dtype.str(), in->zero);
  if (out->scale != 1.0F / 32768) return c.unsupported("a result of int16 whose scale is {}, not 2^-15", out->scale);
  // The input in units of 1 / (3 * 2^12): times an integer, divided by a power of two.
  int exponent = 0, shift = 0;
  const bool is_power = std::frexp(in->scale, &exponent) == 0.5F;
  double multiplier = static_cast<double>(in->scale) * 4096 * 3;
  if (is_power && (exponent - 1 + 12 == 0 || (tanh && exponent - 1 + 12 == 1))) {
    multiplier = 3 << (exponent - 1 + 12);
  } else {
    for (; multiplier <= 32767.0 / 2 && shift <= 30; ++shift) multiplier *= 2;
  }
  const int64_t factor = static_cast<int64_t>(std::min(multiplier, 2147483647.0));
  const int64_t round = shift > 0 ? int64_t{1} << (shift - 1) : 0;
  const std::array<int64_t, 256> table = sigmoid_table();
  return quantized_table(c, [&](int64_t q) {
    const int64_t x = (q * factor + round) >> shift, size = std::abs(x);
    const int bits = tanh ? 8 : 9;
    const int64_t place = size >> bits, rest = size & ((int64_t{1} << bits) - 1);
    int64_t y = tanh ? int64_t{0xFFFF} << 8 : int64_t{0x7FFF} << 10;
    if (place < 255) {
      const int64_t here = table[static_cast<size_t>(place)], next = table[static_cast<size_t>(place) + 1];
      y = (here << bits) + rest * (next - here);
    }
    if (tanh) return (x >= 0 ? y - (1 << 23) + (1 << 7) : -y + (1 << 23) + (1 << 7) - 1) >> 8;
    return (x >= 0 ? y + (1 << 9) : (int64_t{1} << 25) - y + (1 << 9) - 1) >> 10;
  });
}

// --- hard swish ------------------------------------------------------------------------------------------------------

// In 16 bits: x in units of 1/128 of its scale, times relu6(x + 3) / 6 in units of 2^-15.
Expr quantized_hard_swish(Convert& c) {
  const std::optional<Scale> in = scale_of(c, c.input_entry(0)), out = scale_of(c, c.output_entry(0));
  if (!in || !out) return nullptr;
  if (in->dtype.bits != 8) return c.unsupported("quantised data of {}", in->dtype.str());
  const float fine = (1.0F / 128) * in->scale;
  auto narrow = [](float factor) {
    const auto [multiplier, power] = fixed_point::multiplier(static_cast<double>(factor));
    return std::pair<int64_t, int>(std::min<int64_t>((multiplier + (1 << 15)) >> 16, INT16_MAX), power);
  };
  const auto to_out = narrow(fine / out->scale), to_relu = narrow(fine / (3.0F / 32768));
  auto fitting = [](int64_t x) { return std::clamp<int64_t>(x, INT16_MIN, INT16_MAX); };
  auto product = [&](int64_t a, int64_t b) { return fitting((a * b + (1 << 14)) / (1 << 15)); };
  if (to_out.second > 0) return c.unsupported("a result whose scale is {}", out->scale);
  return quantized_table(c, [&](int64_t q) {
    const int64_t x = q * 128, output = product(x, to_out.first);
    int64_t relu = x;
    if (to_relu.second > 0) relu = fitting(relu << (to_relu.second - 1));
    relu = product(relu, to_relu.first);
    if (to_relu.second > 0) relu = fitting(relu * 2);
    if (to_relu.second < 0) relu = fixed_point::quotient(relu, -to_relu.second);
    relu = (relu + (1 << 15)) >> 1;
    return fixed_point::quotient(fitting(relu * output / (1 << 15)), -to_out.second);
  });
}

// --- absolute values, logarithms, roots ------------------------------------------------------------------------------

Expr quantized_abs(Convert& c) {
  const std::optional<Scale> in = scale_of(c, c.input_entry(0)), out = scale_of(c, c.output_entry(0));
  if (!in || !out || !expect_signed(c, *in, *out)) return nullptr;
  const Expr size = c.emit("abs", {c.subtract(c.cast(c.input(0), DType::int32()), zero_point(c, in->zero))});
  return scaled(c, size, {in->scale / out->scale}, Rounds::Twice, out->zero, out->dtype);
}

Expr quantized_log(Convert& c) {
  const std::optional<Scale> in = scale_of(c, c.input_entry(0)), out = scale_of(c, c.output_entry(0));
  if (!in || !out || !expect_signed(c, *in, *out)) return nullptr;
  const float least = static_cast<float>(range_of(out->dtype).first - out->zero) * out->scale;
  return quantized_function(c, [&](float x) { return x <= 0 ? least : std::log(x); });
}

// The root of an integer of 8 bits in units of 2^-20, times the factor of the scales.
Expr quantized_rsqrt(Convert& c) {
  const std::optional<Scale> in = scale_of(c, c.input_entry(0)), out = scale_of(c, c.output_entry(0));
  if (!in || !out || !expect_signed(c, *in, *out)) return nullptr;
  const int64_t most = range_of(out->dtype).second;
  if (in->dtype == DType::int16())
    return quantized_function(
        c, [&](float x) { return x <= 0 ? static_cast<float>(most) * out->scale : 1 / std::sqrt(x); });
  constexpr int fine = 20;
  const auto [multiplier, power] = fixed_point::multiplier(1 / static_cast<double>(std::sqrt(in->scale) * out->scale));
  if (power > fine || power < fine - 31) return c.unsupported("scales {} and {}", in->scale, out->scale);
  return quantized_table(c, [&](int64_t q) {
    if (q <= 0) return most - out->zero;
    const auto [root, exponent] = fixed_point::inverse_root(q);
    return fixed_point::times(fixed_point::times(1, root, exponent + fine), multiplier, power - fine);
  });
}

// --- quotients -------------------------------------------------------------------------------------------------------

// Divides as LiteRT does: by a reciprocal of 31 bits, and then by the factor of the scales. LiteRT's shifts by 32 or
// more are undefined; here they give 0.
static int64_t quotient_of(int64_t x, int64_t y, int64_t multiplier, int power) {
  if (y < 0) x = -x, y = -y;
  const int zeros = __builtin_clz(static_cast<uint32_t>(y));
  const int64_t inverse = fixed_point::reciprocal((y << zeros) - (int64_t{1} << 31));
  const int room = x == 0 ? 31 : __builtin_clrsb(static_cast<int>(x));
  return fixed_point::quotient(fixed_point::product(fixed_point::product(x << room, inverse), multiplier),
                               31 - zeros + room - power);
}

// A table of all pairs of bytes.
Expr quantized_quotient(Convert& c) {
  const std::optional<Scale> a = scale_of(c, c.input_entry(0)), b = scale_of(c, c.input_entry(1)),
                             out = scale_of(c, c.output_entry(0));
  if (!a || !b || !out) return nullptr;
  if (a->dtype.bits != 8 || b->dtype != a->dtype || out->dtype != a->dtype)
    return c.unsupported("quantised data of {} and {} with a result of {}", a->dtype.str(), b->dtype.str(),
                         out->dtype.str());
  const auto [multiplier, power] = fixed_point::multiplier(static_cast<double>(a->scale / (b->scale * out->scale)));
  if (std::abs(power) > 22) return c.unsupported("scales {}, {} and {}", a->scale, b->scale, out->scale);
  const auto [least, most] = range_of(out->dtype);
  Tensor table = Tensor::empty({256 * 256}, out->dtype);
  for (int64_t i = 0; i < 256; ++i)
    for (int64_t j = 0; j < 256; ++j) {
      const int64_t x = i + least - a->zero, y = j + least - b->zero;
      const int64_t value = y == 0 ? (x < 0 ? least : most) : quotient_of(x, y, multiplier, power) + out->zero;
      table.set_int(256 * i + j, std::clamp(value, least, most));
    }
  auto place = [&](size_t i) { return c.add(c.cast(c.input(i), DType::int32()), static_cast<double>(-least)); };
  const Expr places = c.add(c.multiply(place(0), 256.0), place(1));
  return quantized_activation(
      c, c.emit("take", {c.constant(std::move(table)), places}, {{"axis", int64_t{0}}, {"mode", "clip"}}));
}

// --- softmax of int16 ------------------------------------------------------------------------------------------------

// exp(x - largest) by a table over [-10, 0], times the reciprocal of their sum by a table of 1 / (1 + x) over [0, 1].
Expr wide_softmax(Convert& c, double beta) {
  const std::optional<Scale> in = scale_of(c, c.input_entry(0)), out = scale_of(c, c.output_entry(0));
  if (!in || !out) return nullptr;
  if (in->dtype != DType::int16() || out->dtype != DType::int16() || out->zero != 0)
    return c.unsupported("data of {} with a result of {}", in->dtype.str(), out->dtype.str());
  const double units = 65536 / (2.0 / 65535 * 65535);
  const WideTable powers(10.0 / 65535 * -65535, 0.0, units,
                         function_ref<double(double)>([](double x) { return std::exp(x); }));
  const WideTable reciprocals(0.0, 1.0 / 65535 * 65535, units,
                              function_ref<double(double)>([](double x) { return 1 / (1 + x); }));
  Tensor exps = Tensor::empty({65536}, DType::int64()), inverse = Tensor::empty({65536}, DType::int64());
  for (int64_t i = 0; i < 65536; ++i)
    exps.set_int(i, powers.at(i - 32768)), inverse.set_int(i, reciprocals.at(i - 32768));
  auto number = [&](int64_t value) { return c.integer_scalar(value); };
  auto look_up = [&](const Tensor& table, const Expr& at) {
    return c.emit("take", {c.constant(table), c.add(at, number(32768))}, {{"axis", int64_t{0}}, {"mode", "clip"}});
  };
  const Expr x = c.cast(c.input(0), DType::int32());
  const int64_t last = c.rank(x) - 1;
  const Expr below = c.subtract(x, c.reduce("max", x, {last}, true));
  const double rescale = static_cast<double>(in->scale) * beta / (10.0 / 65535.0);
  const Expr steps = scaled(c, below, {rescale}, Rounds::Twice, 0, DType::int32());
  const Expr e = look_up(exps, c.add(c.cast(steps, DType::int64()), number(32767)));
  const Expr sum = c.reduce("sum", e, {last}, true);
  // The sum with its highest bit as bit 30.
  Tensor bounds = Tensor::empty({32}, DType::int64());
  for (int64_t k = 0; k < 32; ++k) bounds.set_int(k, int64_t{1} << k);
  const Expr bits =
      c.reduce("sum", c.cast(c.emit("less_equal", {c.constant(std::move(bounds)), sum}), DType::int64()), {last}, true);
  const Expr lifted = c.emit("left_shift", {sum, c.subtract(number(31), bits)});
  const Expr place = c.emit("right_shift", {c.add(lifted, number(1 << 13)), number(14)});
  const Expr scale = look_up(inverse, c.subtract(place, number((1 << 15) + (1 << 16))));
  const Expr shift = c.subtract(bits, number(1)),
             half = c.emit("left_shift", {number(1), c.subtract(shift, number(1))});
  const Expr y = c.emit("right_shift", {c.add(c.multiply(e, scale), half), shift});
  return c.cast(c.emit("clip", {y}, {{"a_min", 0.0}, {"a_max", 32767.0}}), DType::int16());
}

}  // namespace relay::tflite
