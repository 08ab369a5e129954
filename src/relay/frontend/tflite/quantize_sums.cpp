// Quantised operators with sums or products along axes: MEAN, SUM, REDUCE_PROD, SOFTMAX, LOG_SOFTMAX, L2_NORMALIZATION,
// BATCH_MATMUL.
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

// The number of elements along axes; unset, reported, if it is not known or too large.
static std::optional<int64_t> elements_along(Convert& c, const Expr& x, const Ints& axes) {
  int64_t count = 1;
  for (int64_t axis : axes) {
    const std::optional<int64_t> extent = c.extent(x, axis);
    if (!extent || __builtin_mul_overflow(count, *extent, &count)) {
      c.unsupported("sums over {}; give its shape (--shape)", ir::str(x->type));
      return std::nullopt;
    }
  }
  if (count >= 1 && count <= INT32_MAX / 256) return count;
  c.unsupported("sums of {} elements", count);
  return std::nullopt;
}

// The sum of the integers without their zero points.
static Expr centred_sum(Convert& c, const Expr& x, const Ints& axes, int64_t count, int64_t zero) {
  const Expr sum = c.reduce("sum", c.cast(x, DType::int32()), axes, c.flag("keep_dims"));
  return c.add(sum, static_cast<double>(-zero * count));
}

// The number of elements joins the factor: its integer is divided by it, cut off.
Expr quantized_mean(Convert& c, const Expr& x, const Ints& axes) {
  const std::optional<Scale> in = scale_of(c, c.input_entry(0)), out = scale_of(c, c.output_entry(0));
  const std::optional<int64_t> count = in && out ? elements_along(c, x, axes) : std::nullopt;
  if (!count) return nullptr;
  auto [multiplier, power] = fixed_point::multiplier(static_cast<double>(in->scale) / static_cast<double>(out->scale));
  const int shift = std::min(63 - __builtin_clzll(static_cast<uint64_t>(*count)), 31 + power);
  multiplier = (multiplier << shift) / *count, power -= shift;
  if (power > 30 || power < -31) return c.unsupported("scales of which one is 2^{} of the other", power);
  const Expr sum = centred_sum(c, x, axes, *count, in->zero);
  const Expr product =
      c.emit("fixed_point_multiply", {sum}, {{"multiplier", multiplier}, {"shift", int64_t{std::max(power, 0)}}});
  return quotient(c, product, std::max(-power, 0), out->zero, out->dtype);
}

Expr quantized_total(Convert& c, const Expr& x, const Ints& axes) {
  const std::optional<Scale> in = scale_of(c, c.input_entry(0)), out = scale_of(c, c.output_entry(0));
  const std::optional<int64_t> count = in && out ? elements_along(c, x, axes) : std::nullopt;
  if (!count) return nullptr;
  return scaled(c, centred_sum(c, x, axes, *count, in->zero),
                {static_cast<double>(in->scale) / static_cast<double>(out->scale)}, Rounds::Twice, out->zero,
                out->dtype);
}

// Multiplies one factor after the other, in the order of the elements. Each product is multiplied by
// in->scale / out->scale^(1 / count), and rounded.
Expr quantized_prod(Convert& c, const Expr& x, const Ints& axes) {
  constexpr int64_t most_factors = 1024;
  const std::optional<Scale> in = scale_of(c, c.input_entry(0)), out = scale_of(c, c.output_entry(0));
  const std::optional<int64_t> count = in && out ? elements_along(c, x, axes) : std::nullopt;
  if (!count) return nullptr;
  if ((in->dtype != DType::int8() && in->dtype != DType::int16()) || out->dtype != in->dtype)
    return c.unsupported("quantised data of {} with a result of {}", in->dtype.str(), out->dtype.str());
  if (*count > most_factors)
    return c.unsupported("a quantised product of {} elements, more than {}", *count, most_factors);
  const double factor =
      static_cast<double>(in->scale) / std::pow(static_cast<double>(out->scale), 1.0 / static_cast<double>(*count));
  // The reduced axes come last, as one.
  Ints order;
  ir::Dims shape, kept;
  const int64_t rank = c.rank(x);
  auto is_reduced = [&](int64_t axis) { return std::count(axes.begin(), axes.end(), axis) > 0; };
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (!is_reduced(axis)) order.push_back(axis), shape.push_back(c.shape(x)[static_cast<size_t>(axis)]);
    if (!is_reduced(axis) || c.flag("keep_dims"))
      kept.push_back(is_reduced(axis) ? scalar::imm(1) : c.shape(x)[static_cast<size_t>(axis)]);
  }
  for (int64_t axis = 0; axis < rank; ++axis)
    if (is_reduced(axis)) order.push_back(axis);
  shape.push_back(scalar::imm(*count));
  const Expr wide = c.add(c.cast(x, DType::int64()), static_cast<double>(-in->zero));
  const Expr rows = c.reshape(c.transpose(wide, order), shape);
  auto rescaled = [&](const Expr& e, int64_t zero, DType to) {
    return scaled(c, e, {factor}, Rounds::Coarse, zero, to);
  };
  Expr product;
  for (int64_t i = 0; i < *count; ++i) {
    const Expr next = c.emit("take", {rows, c.integer_scalar(i)}, {{"axis", std::ssize(shape) - 1}, {"mode", "clip"}});
    product = i == 0 ? next : c.cast(rescaled(c.multiply(product, next), 0, DType::int32()), DType::int64());
    if (!product) return nullptr;
  }
  return c.reshape(rescaled(product, out->zero, out->dtype), kept);
}

namespace {

// Fixed-point numbers of 32 bits in int64 tensors.
struct FixedPoint {
  Convert& c;

  Expr number(int64_t value) { return c.integer_scalar(value); }
  Expr down(const Expr& x, int64_t bits) { return c.emit("right_shift", {x, number(bits)}); }
  Expr least(const Expr& a, const Expr& b) { return c.emit("minimum", {a, b}); }
  Expr largest(const Expr& a, const Expr& b) { return c.emit("maximum", {a, b}); }
  // a * b / 2^31, rounded, halves up.
  Expr product(const Expr& a, const Expr& b) { return down(c.add(c.multiply(a, b), number(int64_t{1} << 30)), 31); }
  Expr product(const Expr& a, int64_t b) { return product(a, number(b)); }
  Expr power_of_two(const Expr& power) { return c.emit("left_shift", {number(1), power}); }
  // x / 2^power, rounded, halves away from zero: (2 x + 2^power) / 2^(power + 1), where a half of a negative x is less.
  Expr quotient(const Expr& x, const Expr& power) {
    const Expr twice = c.add(c.add(c.multiply(x, number(2)), power_of_two(power)), down(x, 63));
    return c.emit("right_shift", {twice, c.add(power, number(1))});
  }
  Expr quotient(const Expr& x, int64_t power) { return quotient(x, number(power)); }
  // The number of bits of x, which is from 1 below 2^32.
  Expr bits(const Expr& x) {
    Tensor powers = Tensor::empty({32}, DType::int64());
    for (int64_t k = 0; k < 32; ++k) powers.set_int(k, int64_t{1} << k);
    const Expr reached = c.cast(c.emit("less_equal", {c.constant(std::move(powers)), x}), DType::int64());
    return c.reduce("sum", reached, {c.rank(x) - 1}, true);
  }
  // 2^62 / (2^31 + x), for x from 0 to 2^31: three of Newton's steps.
  Expr reciprocal(const Expr& x) {
    const Expr half = down(c.add(x, number((int64_t{1} << 31))), 1);  // of x + 1, rounded up
    Expr y = c.add(product(half, -1010580540), number(1515870810));   // 48/17 - 32/17 half, in units of 2^-29
    for (int step = 0; step < 3; ++step) {
      const Expr rest = c.subtract(number(int64_t{1} << 29), product(half, y));
      y = c.add(y, c.multiply(product(y, rest), number(4)));
    }
    return least(c.multiply(y, number(2)), number(INT32_MAX));
  }
  Expr logarithm(const Expr& x);
  std::pair<Expr, Expr> inverse_root(const Expr& x);
};

// log(x / 2^19) in units of 2^-26, of x from 2^19 below 2^31. With r = x / 2^n between 2^-1/2 and 1, log(x) is n log(2)
// plus a quotient of polynomials of r - 2^-1/4. Of x and of x 2^-1/2, one has the r that is nearer to 2^-1/4.
Expr FixedPoint::logarithm(const Expr& x) {
  constexpr int64_t log_of_two = 1488522236, fourth_root_of_half = 1805811301, root_of_half = 1518500250;
  constexpr int64_t quarter = 1 << 23, unit = 1 << 25;  // 1/4 and 1 in units of 2^-25
  auto lifted = [&](const Expr& e, const Expr& up) { return c.multiply(e, power_of_two(up)); };
  const Expr full = number(31), most = number(INT32_MAX), own = bits(x), other = bits(product(x, root_of_half));
  const Expr up = lifted(x, c.subtract(full, own));
  const Expr r = least(least(c.multiply(product(up, root_of_half), number(2)), most),
                       least(lifted(x, c.subtract(full, other)), most));
  const Expr n = largest(c.add(c.multiply(c.subtract(own, number(20)), number(unit)), number(quarter)),
                         c.subtract(c.multiply(c.subtract(other, number(19)), number(unit)), number(quarter)));
  const Expr p = down(c.add(r, number(fourth_root_of_half + 1)), 1);
  const Expr q = c.multiply(c.subtract(r, number(fourth_root_of_half)), number(2)), square = product(q, q);
  const Expr above = c.add(product(q, r), product(product(q, square), 117049297));
  const Expr sum = c.add(c.add(number(1057819769), q), product(square, 127690142));
  const Expr below = c.add(product(p, sum), product(q, 638450708));
  return c.multiply(c.add(product(n, log_of_two), product(quotient(above, 6), reciprocal(below))), number(2));
}

// 1 / sqrt(x), for x from 0 below 2^31, as an integer of 31 bits and the power of two of its divisor: five of Newton's
// steps. For 0 it is that of 1.
std::pair<Expr, Expr> FixedPoint::inverse_root(const Expr& x) {
  constexpr int64_t one = int64_t{1} << 28, root_of_half = 1518500250;
  const Expr zero = number(0), most = number(INT32_MAX);
  const Expr is_large = c.cast(c.emit("greater_equal", {x, number(1 << 29)}), DType::int64());
  const Expr n = largest(c.emit("right_shift", {x, c.multiply(is_large, number(2))}), number(2));
  // n * 4^pairs is from 2^27 below 2^29.
  const Expr pairs = down(c.subtract(number(29), bits(n)), 1);
  const Expr v = down(c.emit("left_shift", {n, c.multiply(pairs, number(2))}), 1), half = down(c.add(v, number(1)), 1);
  Expr y = number(one);
  for (int step = 0; step < 5; ++step) {
    const Expr cube = least(c.multiply(product(product(y, y), y), number(1 << 6)), most);
    y = least(c.multiply(c.subtract(product(y, one + one / 2), product(half, cube)), number(8)), most);
  }
  const Expr power = c.subtract(c.add(number(11), is_large), pairs);
  const Expr root = c.multiply(product(y, root_of_half), power_of_two(largest(c.subtract(zero, power), zero)));
  const Expr is_one = c.emit("less_equal", {x, number(1)});
  return {c.emit("where", {is_one, most, root}), c.emit("where", {is_one, zero, largest(power, zero)})};
}

// exp(-d * scale * beta) for the differences d of bytes from the largest.
struct Exponentials {
  int64_t multiplier;
  int power;
  int64_t radius;                                             // differences above it count as none
  Tensor exponents = Tensor::full({256}, DType::int64(), 0);  // in units of 2^-26
  Tensor values = Tensor::full({256}, DType::int64(), 0);     // in units of 2^-31
  Tensor terms = Tensor::full({256}, DType::int64(), 0);      // in units of 2^-19

  Exponentials(double scale, double beta) {
    std::tie(multiplier, power) = fixed_point::multiplier(std::min(beta * scale * (1 << 26), 2147483647.0));
    radius = static_cast<int64_t>(std::floor(31.0 * (1 << 26) / std::ldexp(1.0, power)));
    if (!fits()) return;
    for (int64_t d = 0; d < 256 && d <= radius; ++d) {
      exponents.set_int(d, fixed_point::product(-d * (int64_t{1} << power), multiplier));
      values.set_int(d, fixed_point::exp_of_negative(exponents.int_at(d)));
      terms.set_int(d, fixed_point::quotient(values.int_at(d), 12));
    }
  }
  bool fits() const { return power >= 1 && power <= 30; }
};

Expr looked_up(Convert& c, const Tensor& values, const Expr& places) {
  return c.emit("take", {c.constant(values), places}, {{"axis", int64_t{0}}, {"mode", "clip"}});
}

}  // namespace

// Exponentials divided by their sum.
Expr quantized_softmax(Convert& c, double beta) {
  const std::optional<Scale> in = scale_of(c, c.input_entry(0)), out = scale_of(c, c.output_entry(0));
  if (!in || !out) return nullptr;
  if (in->dtype == DType::int16()) return wide_softmax(c, beta);
  if (in->dtype.bits != 8 || out->dtype != in->dtype)
    return c.unsupported("quantised data of {} with a result of {}", in->dtype.str(), out->dtype.str());
  const Exponentials e(static_cast<double>(in->scale), beta);
  if (!e.fits()) return c.unsupported("a scale of {} with beta {}", in->scale, beta);
  FixedPoint f{c};
  const Expr x = c.cast(c.input(0), DType::int64());
  const int64_t last = c.rank(x) - 1;
  const Expr below = c.subtract(c.reduce("max", x, {last}, true), x);
  const Expr sum = c.reduce("sum", looked_up(c, e.terms, below), {last}, true);  // units of 2^-19, at least 1
  const Expr room = c.subtract(f.number(32), f.bits(sum));
  const Expr rest = c.subtract(c.emit("left_shift", {sum, room}), f.number(int64_t{1} << 31));
  const Expr scale = f.reciprocal(rest);
  const Expr exponent = c.subtract(f.number(12 + 31 - 8), room);
  const Expr steps = f.quotient(f.product(scale, looked_up(c, e.values, below)), exponent);
  const auto [least, most] = range_of(out->dtype);
  return c.cast(f.least(c.add(steps, f.number(least)), f.number(most)), out->dtype);
}

// The exponent minus the logarithm of the sum of exponentials, in steps of 1/16 below 0.
Expr quantized_log_softmax(Convert& c) {
  const std::optional<Scale> in = scale_of(c, c.input_entry(0)), out = scale_of(c, c.output_entry(0));
  if (!in || !out) return nullptr;
  const auto [least, most] = range_of(out->dtype);
  if (in->dtype.bits != 8 || out->dtype != in->dtype || out->scale != 1.0F / 16 || out->zero != most)
    return c.unsupported("quantised data of {} with a result of {}, scale {} and zero point {}", in->dtype.str(),
                         out->dtype.str(), out->scale, out->zero);
  const Exponentials e(static_cast<double>(in->scale), 1);
  if (!e.fits()) return c.unsupported("a scale of {}", in->scale);
  FixedPoint f{c};
  const Expr x = c.cast(c.input(0), DType::int64());
  const int64_t last = c.rank(x) - 1;
  const Expr below = c.subtract(c.reduce("max", x, {last}, true), x);
  const Expr sum = c.reduce("sum", looked_up(c, e.terms, below), {last}, true);  // units of 2^-19
  const Expr log = f.logarithm(f.least(sum, f.number(INT32_MAX)));               // units of 2^-26
  // Differences whose result is less than the least number.
  const auto [inverse, power] =
      fixed_point::multiplier(std::ldexp(1.0, 31 - e.power) / static_cast<double>(e.multiplier));
  const Expr shifted = c.multiply(c.add(log, f.number(INT32_MIN)), f.number(int64_t{1} << std::max(power, 0)));
  const Expr bound = f.quotient(f.product(shifted, inverse), std::max(-power, 0));
  const Expr is_seen = c.emit("less", {below, f.least(f.number(e.radius + 1), c.emit("negative", {bound}))});
  const Expr steps = f.quotient(c.subtract(looked_up(c, e.exponents, below), log), 22);
  const Expr placed = f.largest(f.least(c.add(steps, f.number(most)), f.number(most)), f.number(least));
  return c.cast(c.emit("where", {is_seen, placed, f.number(least)}), out->dtype);
}

// The integers times the inverse root of the sum of their squares, in steps of 1/128.
Expr quantized_l2_normalize(Convert& c) {
  const std::optional<Scale> in = scale_of(c, c.input_entry(0)), out = scale_of(c, c.output_entry(0));
  if (!in || !out) return nullptr;
  const bool is_signed = in->dtype == DType::int8();
  if (in->dtype.bits != 8 || out->dtype != in->dtype || out->scale != 1.0F / 128 || out->zero != (is_signed ? 0 : 128))
    return c.unsupported("quantised data of {} with a result of {}, scale {} and zero point {}", in->dtype.str(),
                         out->dtype.str(), out->scale, out->zero);
  if (c.integer("fused_activation_function", 0) != 0) return c.unsupported("a fused activation of quantised data");
  FixedPoint f{c};
  const Expr x = c.add(c.cast(c.input(0), DType::int64()), static_cast<double>(-in->zero));
  const Expr squares = c.reduce("sum", c.multiply(x, x), {c.rank(x) - 1}, true);
  const auto [root, power] = f.inverse_root(f.least(squares, f.number(INT32_MAX)));
  // int8: 128 is part of the power of two. uint8: of the integer.
  const Expr zero = f.number(0), rest = c.subtract(power, f.number(is_signed ? 7 : 0));
  const Expr up = is_signed ? f.power_of_two(f.largest(c.emit("negative", {rest}), zero)) : f.number(128);
  const Expr steps = f.quotient(f.product(c.multiply(x, up), root), f.largest(rest, zero));
  const auto [least, most] = range_of(out->dtype);
  const Expr placed = c.add(steps, f.number(out->zero));
  return c.cast(f.largest(f.least(placed, f.number(most)), f.number(least)), out->dtype);
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
