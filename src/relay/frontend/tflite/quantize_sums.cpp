// Quantised operators with sums along axes: MEAN, SOFTMAX, BATCH_MATMUL.
#include <algorithm>
#include <cmath>

#include "relay/frontend/common/ops/matrix_product.h"
#include "relay/frontend/tflite/fixed_point.h"
#include "relay/frontend/tflite/quantize.h"

namespace relay::tflite {

using ir::Expr;
using ir::Ints;

Expr quotient(Convert& c, const Expr& x, int power, int64_t zero, DType to) {
  auto number = [&](int64_t value) { return c.constant(Tensor::from_ints({}, DType::int32(), std::span(&value, 1))); };
  return c.emit(
      "qnn.requantize",
      {x, c.scalar(std::ldexp(1.0, -power), DType::float64()), number(0), c.scalar(1, DType::float64()), number(zero)},
      {{"rounding", "TONEAREST"}, {"out_dtype", to}});
}

// The number of elements joins the factor: its integer is divided by it, cut off.
Expr quantized_mean(Convert& c, const Expr& x, const Ints& axes) {
  const std::optional<Scale> in = scale_of(c, c.input_entry(0)), out = scale_of(c, c.output_entry(0));
  if (!in || !out) return nullptr;
  int64_t count = 1;
  for (int64_t axis : axes) {
    const std::optional<int64_t> extent = c.extent(x, axis);
    if (!extent || __builtin_mul_overflow(count, *extent, &count))
      return c.unsupported("sums over {}; give its shape (--shape)", ir::str(x->type));
  }
  if (count < 1 || count > INT32_MAX / 256) return c.unsupported("sums of {} elements", count);
  auto [multiplier, power] = fixed_point::multiplier(static_cast<double>(in->scale) / static_cast<double>(out->scale));
  const int shift = std::min(63 - __builtin_clzll(static_cast<uint64_t>(count)), 31 + power);
  multiplier = (multiplier << shift) / count, power -= shift;
  if (power > 30 || power < -31) return c.unsupported("scales of which one is 2^{} of the other", power);
  Expr sum = c.reduce("sum", c.cast(x, DType::int32()), axes, c.flag("keep_dims"));
  sum = c.add(sum, static_cast<double>(-in->zero * count));
  const Expr product =
      c.emit("fixed_point_multiply", {sum}, {{"multiplier", multiplier}, {"shift", int64_t{std::max(power, 0)}}});
  return quotient(c, product, std::max(-power, 0), out->zero, out->dtype);
}

namespace {

// Fixed-point numbers of 32 bits in int64 tensors.
struct FixedPoint {
  Convert& c;

  Expr number(int64_t value) { return c.integer_scalar(value); }
  Expr down(const Expr& x, int64_t bits) { return c.emit("right_shift", {x, number(bits)}); }
  // a * b / 2^31, rounded, halves up.
  Expr product(const Expr& a, const Expr& b) { return down(c.add(c.multiply(a, b), number(int64_t{1} << 30)), 31); }
  // The same divided by 2^(power - 31), where power is a tensor of at least 1: halves away from zero, of values from 0.
  Expr quotient(const Expr& x, const Expr& power) {
    const Expr half = c.emit("left_shift", {number(1), c.subtract(power, number(1))});
    return c.emit("right_shift", {c.add(x, half), power});
  }
  // 2^62 / (2^31 + x), for x from 0 to 2^31: three of Newton's steps.
  Expr reciprocal(const Expr& x) {
    const Expr half = down(c.add(x, number((int64_t{1} << 31))), 1);         // of x + 1, rounded up
    Expr y = c.add(product(half, number(-1010580540)), number(1515870810));  // 48/17 - 32/17 half, in units of 2^-29
    for (int step = 0; step < 3; ++step) {
      const Expr rest = c.subtract(number(int64_t{1} << 29), product(half, y));
      y = c.add(y, c.multiply(product(y, rest), number(4)));
    }
    return c.emit("minimum", {c.multiply(y, number(2)), number(INT32_MAX)});
  }
};

}  // namespace

// exp(x - largest) by a table of the 256 differences, divided by their sum.
Expr quantized_softmax(Convert& c, double beta) {
  const std::optional<Scale> in = scale_of(c, c.input_entry(0)), out = scale_of(c, c.output_entry(0));
  if (!in || !out) return nullptr;
  if (in->dtype == DType::int16()) return wide_softmax(c, beta);
  if (in->dtype.bits != 8 || out->dtype != in->dtype)
    return c.unsupported("quantised data of {} with a result of {}", in->dtype.str(), out->dtype.str());
  const auto [multiplier, power] =
      fixed_point::multiplier(std::min(beta * static_cast<double>(in->scale) * (1 << 26), 2147483647.0));
  if (power < 1 || power > 30) return c.unsupported("a scale of {} with beta {}", in->scale, beta);
  const int64_t radius = static_cast<int64_t>(std::floor(31.0 * (1 << 26) / static_cast<double>(int64_t{1} << power)));
  Tensor table = Tensor::full({256}, DType::int64(), 0), terms = Tensor::full({256}, DType::int64(), 0);
  for (int64_t d = 0; d < 256 && d <= radius; ++d) {
    const int64_t e = fixed_point::exp_of_negative(fixed_point::product(-d * (int64_t{1} << power), multiplier));
    table.set_int(d, e), terms.set_int(d, fixed_point::quotient(e, 12));
  }
  FixedPoint f{c};
  const Expr x = c.cast(c.input(0), DType::int64());
  const int64_t last = c.rank(x) - 1;
  const Expr below = c.subtract(c.reduce("max", x, {last}, true), x);
  auto look_up = [&](Tensor& values) {
    return c.emit("take", {c.constant(std::move(values)), below}, {{"axis", int64_t{0}}, {"mode", "clip"}});
  };
  const Expr sum = c.reduce("sum", look_up(terms), {last}, true);  // units of 2^-19, at least 1
  Tensor powers = Tensor::empty({32}, DType::int64());
  for (int64_t k = 0; k < 32; ++k) powers.set_int(k, int64_t{1} << k);
  const Expr reached = c.cast(c.emit("less_equal", {c.constant(std::move(powers)), sum}), DType::int64());
  const Expr bits = c.reduce("sum", reached, {last}, true), room = c.subtract(f.number(32), bits);
  const Expr rest = c.subtract(c.emit("left_shift", {sum, room}), f.number(int64_t{1} << 31));
  const Expr scale = f.reciprocal(rest);
  const Expr exponent = c.subtract(f.number(12 + 31 - 8), room);
  const Expr steps = f.quotient(f.product(scale, look_up(table)), exponent);
  const auto [least, most] = range_of(out->dtype);
  const Expr placed = c.add(steps, f.number(least));
  return c.cast(c.emit("minimum", {placed, f.number(most)}), out->dtype);
}

// Sums of int32, or of int64 for data of 16 bits.
Expr quantized_matrix_product(Convert& c, const Expr& a, const Expr& b) {
  const std::optional<Scale> left = scale_of(c, c.input_entry(0)), right = scale_of(c, c.input_entry(1)),
                             out = scale_of(c, c.output_entry(0));
  if (!left || !right || !out) return nullptr;
  const bool is_wide = left->dtype == DType::int16();
  if ((!is_wide && left->dtype != DType::int8()) || right->dtype != left->dtype || out->dtype != left->dtype)
    return c.unsupported("quantised matrices of {} and {} with a result of {}", left->dtype.str(), right->dtype.str(),
                         out->dtype.str());
  if (is_wide && (left->zero != 0 || right->zero != 0))
    return c.unsupported("data of int16 with zero points {} and {}", left->zero, right->zero);
  const Expr sums = is_wide ? matrix_product(c, c.cast(a, DType::int64()), c.cast(b, DType::int64()))
                            : integer_product(c, a, zero_point(c, left->zero), b, zero_point(c, right->zero));
  const double factor = static_cast<double>(left->scale * right->scale) / static_cast<double>(out->scale);
  return scaled(c, sums, {factor}, is_wide ? Rounds::Coarse : Rounds::Twice, out->zero, out->dtype);
}

}  // namespace relay::tflite
