#include "relay/frontend/tflite/quantize.h"

#include <algorithm>
#include <cmath>

#include "relay/frontend/tflite/fixed_point.h"

namespace relay::tflite {

using ir::Expr;

Expr zero_point(Convert& c, int64_t value) {
  return c.constant(Tensor::from_ints({}, DType::int32(), std::span(&value, 1)));
}

// Integers times real factors, one or one for each index of the last axis, in another zero point and type.
static Expr times(Convert& c, const Expr& e, const std::vector<double>& factors, const char* rounding, int64_t to_zero,
                  DType to) {
  const bool is_one = factors.size() == 1;
  const Expr factor = is_one ? c.scalar(factors[0], DType::float64())
                             : c.constant(Tensor::from_doubles({std::ssize(factors)}, DType::float64(), factors));
  return c.emit("qnn.requantize", {e, factor, zero_point(c, 0), c.scalar(1, DType::float64()), zero_point(c, to_zero)},
                {{"axis", int64_t{-1}}, {"rounding", rounding}, {"out_dtype", to}});
}

// In int64 or float64, saturated.
static Expr times_wide(Convert& c, const Expr& e, const std::vector<double>& factors, Rounds rounds, int64_t to_zero,
                       DType to) {
  const relay::Shape shape = factors.size() == 1 ? relay::Shape{} : relay::Shape{std::ssize(factors)};
  const auto [least, most] = range_of(to);
  Expr y;
  if (rounds == Rounds::Real) {
    y = rounded(
        c, c.multiply(c.cast(e, DType::float64()), c.constant(Tensor::from_doubles(shape, DType::float64(), factors))));
  } else {
    std::vector<int64_t> products, halves, shifts;
    for (double factor : factors) {
      const auto [multiplier, power] = fixed_point::multiplier(factor);
      if (power > 14 || power < -46) return c.unsupported("scales of which one is 2^{} of the other", power);
      products.push_back(std::min<int64_t>((multiplier + (1 << 15)) >> 16, INT16_MAX));
      halves.push_back(int64_t{1} << (14 - power)), shifts.push_back(15 - power);
    }
    auto list = [&](const std::vector<int64_t>& values) {
      return c.constant(Tensor::from_ints(shape, DType::int64(), values));
    };
    y = c.emit("right_shift", {c.add(c.multiply(e, list(products)), list(halves)), list(shifts)});
  }
  y = c.emit("clip", {c.add(y, static_cast<double>(to_zero))},
             {{"a_min", static_cast<double>(least)}, {"a_max", static_cast<double>(most)}});
  return c.cast(y, to);
}

// int32 times factors below 1, where the 31-bit part of a factor and its power of two are rounded one after the other:
// the product needs 64 bits, and everything else 32. Null for other factors.
static Expr times_twice(Convert& c, const Expr& e, const std::vector<double>& factors, int64_t to_zero, DType to) {
  std::vector<int64_t> multipliers, shifts;
  for (double factor : factors) {
    const auto [multiplier, power] = fixed_point::multiplier(factor);
    if (power > -1 || power < -30) return nullptr;
    multipliers.push_back(multiplier), shifts.push_back(-power - 1);
  }
  const relay::Shape shape = factors.size() == 1 ? relay::Shape{} : relay::Shape{std::ssize(factors)};
  auto list = [&](const std::vector<int64_t>& values) {
    return c.constant(Tensor::from_ints(shape, DType::int32(), values));
  };
  const Expr product =
      factors.size() == 1 ? c.emit("fixed_point_multiply", {e}, {{"multiplier", multipliers[0]}, {"shift", int64_t{0}}})
                          : c.emit("fixed_point_multiply_per_axis", {e, list(multipliers), list(shifts), list(shifts)},
                                   {{"axes", std::vector<int64_t>{c.rank(e) - 1}}});
  auto shifted = [&](const Expr& x, const Expr& by) { return c.emit("right_shift", {x, by}); };
  // Halves away from zero: a negative number less one, shifted but for a bit, plus one, shifted by that.
  const Expr toward = c.emit("add", {product, shifted(product, zero_point(c, 31))});
  const Expr quotient = shifted(c.add(shifted(toward, list(shifts)), 1), zero_point(c, 1));
  const auto [least, most] = range_of(to);
  const Expr y = to_zero == 0 ? quotient : c.add(quotient, static_cast<double>(to_zero));
  if (to == DType::int32()) return y;
  return c.cast(c.emit("clip", {y}, {{"a_min", static_cast<double>(least)}, {"a_max", static_cast<double>(most)}}), to);
}

Expr scaled(Convert& c, const Expr& e, const std::vector<double>& factors, Rounds rounds, int64_t to_zero, DType to) {
  if (rounds == Rounds::Once) return times(c, e, factors, "UPWARD", to_zero, to);
  if (rounds != Rounds::Twice) return times_wide(c, e, factors, rounds, to_zero, to);
  if (c.dtype(e) == DType::int32() && (to_zero == 0 || to != DType::int32()))
    if (const Expr y = times_twice(c, e, factors, to_zero, to)) return y;
  std::vector<double> products, quotients;
  for (double factor : factors) {
    int power = 0;
    const double fraction = std::frexp(factor, &power);
    products.push_back(std::ldexp(fraction, std::max(power, 0)));
    quotients.push_back(std::ldexp(1.0, std::min(power, 0)));
  }
  return times(c, times(c, e, products, "UPWARD", 0, DType::int32()), quotients, "TONEAREST", to_zero, to);
}

std::optional<Scale> scale_of(Convert& c, const TensorEntry& entry) {
  if (!entry.is_quantized()) return c.unsupported("tensor '{}' has no scale beside others that have one", entry.name);
  if (entry.quantization->per_axis()) return c.unsupported("tensor '{}' has several scales", entry.name);
  if (entry.quantization->scales[0] == 0) return c.bad("the scale of tensor '{}' is 0", entry.name);
  return Scale{entry.quantization->scales[0], entry.quantization->zero_points[0], *type_dtype(entry.type)};
}

Expr rounded(Convert& c, const Expr& x) {
  const Expr whole = c.emit("trunc", {x}), rest = c.emit("abs", {c.subtract(x, whole)});
  const Expr goes_on = c.emit("greater_equal", {rest, c.scalar(0.5, c.dtype(x))});
  return c.emit("where", {goes_on, c.add(whole, c.emit("sign", {x})), whole});
}

// --- activations -----------------------------------------------------------------------------------------------------

// A real bound in the integers of a scale.
static int64_t in_integers(double bound, const Scale& s) {
  const auto [least, most] = range_of(s.dtype);
  if (std::isinf(bound)) return bound < 0 ? least : most;
  const double steps = std::round(static_cast<float>(bound) / s.scale);
  return std::clamp(static_cast<int64_t>(std::clamp(steps, -4e9, 4e9)) + s.zero, least, most);
}

static Expr clipped(Convert& c, const Expr& e, const Scale& s, double low, double high) {
  const auto [least, most] = range_of(s.dtype);
  const int64_t from = in_integers(low, s), to = in_integers(high, s);
  if (from == least && to == most) return e;
  return c.emit("clip", {e}, {{"a_min", static_cast<double>(from)}, {"a_max", static_cast<double>(to)}});
}

Expr quantized_activation(Convert& c, const Expr& e) {
  const std::optional<Scale> out = scale_of(c, c.output_entry(0));
  if (!out) return nullptr;
  switch (c.integer("fused_activation_function", 0)) {
    case 0: return e;
    case 1: return clipped(c, e, *out, 0, INFINITY);
    case 2: return clipped(c, e, *out, -1, 1);
    case 3: return clipped(c, e, *out, 0, 6);
    default: return c.unsupported("fused activation {} of quantised data", c.integer("fused_activation_function", 0));
  }
}

// Computed in float32, as LiteRT's kernel does for CONCATENATION.
Expr rescaled(Convert& c, const Expr& x, const TensorEntry& from, const TensorEntry& to) {
  const std::optional<Scale> in = scale_of(c, from), out = scale_of(c, to);
  if (!in || !out) return nullptr;
  if (in->scale == out->scale && in->zero == out->zero) return x;
  const float factor = in->scale * (1.0F / out->scale), bias = static_cast<float>(-in->zero) * factor;
  const Expr real = c.add(c.multiply(c.cast(x, DType::float32()), c.scalar(factor, DType::float32())),
                          c.scalar(bias, DType::float32()));
  const auto [least, most] = range_of(out->dtype);
  const Expr steps = c.add(rounded(c, real), static_cast<double>(out->zero));
  return c.cast(c.emit("clip", {steps}, {{"a_min", static_cast<double>(least)}, {"a_max", static_cast<double>(most)}}),
                out->dtype);
}

Expr requantized(Convert& c, const Expr& x, const TensorEntry& from, const TensorEntry& to) {
  const std::optional<Scale> in = scale_of(c, from), out = scale_of(c, to);
  if (!in || !out) return nullptr;
  if (in->scale == out->scale && in->zero == out->zero && in->dtype == out->dtype) return x;
  const Expr centred = c.subtract(c.cast(x, DType::int32()), zero_point(c, in->zero));
  return scaled(c, centred, {static_cast<double>(in->scale) / static_cast<double>(out->scale)}, Rounds::Twice,
                out->zero, out->dtype);
}

Expr quantized_clip(Convert& c, double low, double high) {
  const std::optional<Scale> out = scale_of(c, c.output_entry(0));
  if (!out) return nullptr;
  return clipped(c, requantized(c, c.input(0), c.input_entry(0), c.output_entry(0)), *out, low, high);
}

// --- products --------------------------------------------------------------------------------------------------------

Expr dequantized(Convert& c, const Expr& x, const TensorEntry& entry) {
  const Quantization& q = *entry.quantization;
  std::vector<double> scales(q.scales.begin(), q.scales.end());
  const relay::Shape shape = q.per_axis() ? relay::Shape{std::ssize(scales)} : relay::Shape{};
  return c.emit("qnn.dequantize",
                {x, c.constant(Tensor::from_doubles(shape, DType::float32(), scales)),
                 c.constant(Tensor::from_ints(shape, DType::int32(), q.zero_points))},
                {{"axis", q.axis}});
}

Expr real_weight(Convert& c, size_t i, int64_t channel_axis) {
  const TensorEntry& entry = c.input_entry(i);
  if (!entry.is_quantized() || c.is_quantized_input(i == 1 ? 0 : 1)) return c.input(i);
  const Quantization& q = *entry.quantization;
  if (q.per_axis() && q.axis != channel_axis)
    return c.unsupported("the weight has a scale for each index of axis {}", q.axis);
  return dequantized(c, c.input(i), entry);
}

Expr quantized_sum(Convert& c, const char* op, const Expr& x, const Expr& weight, const EmitAttrs& attrs,
                   int64_t channel_axis, const Factors& factors) {
  const std::optional<Scale> in = scale_of(c, c.input_entry(factors.data));
  const TensorEntry& filter = c.input_entry(factors.weight);
  if (!in) return nullptr;
  if (!filter.is_quantized()) return c.unsupported("quantised data with a weight that is not");
  if (in->dtype.bits > 16 || type_dtype(filter.type)->bits > 8)
    return c.unsupported("quantised data of {} with a weight of {}", in->dtype.str(), type_name(filter.type));
  const Quantization& q = *filter.quantization;
  if (q.per_axis() && q.axis != channel_axis)
    return c.unsupported("the weight has a scale for each index of axis {}, not {}", q.axis, channel_axis);
  if (q.per_axis() && std::any_of(q.zero_points.begin(), q.zero_points.end(), [](int64_t z) { return z != 0; }))
    return c.bad("the weight has several scales, and a zero point other than 0");
  if (in->dtype.bits == 16) {
    if (in->zero != 0 || q.zero_points[0] != 0 || in->dtype != DType::int16())
      return c.unsupported("data of {} with zero points {} and {}", in->dtype.str(), in->zero, q.zero_points[0]);
    EmitAttrs wide = attrs;
    wide.push_back({"out_dtype", DType::int64()});
    return c.emit(op + 1, {x, weight}, wide);  // "qnn.dense" without the q
  }
  const Expr one = c.scalar(1, DType::float32());  // sums do not depend on scales
  return c.emit(op, {x, weight, one, zero_point(c, in->zero), one, zero_point(c, q.zero_points[0])}, attrs);
}

Values quantized_result(Convert& c, Expr sum, const Factors& of) {
  const std::optional<Scale> in = scale_of(c, c.input_entry(of.data)), out = scale_of(c, c.output_entry(0));
  if (!in || !out || !sum) return {};
  const bool is_dense = c.node.op() == "FULLY_CONNECTED", is_wide = in->dtype.bits == 16;
  Rounds rounds = is_wide ? is_dense ? Rounds::Real : Rounds::Coarse : is_dense ? Rounds::Once : Rounds::Twice;
  if (c.has(of.bias)) {
    const Expr bias = c.input(of.bias);
    const DType dtype = c.dtype(bias);
    if (dtype != DType::int32() && !(is_wide && dtype == DType::int64()))
      return c.unsupported("a bias of {} with data of {}", dtype.str(), in->dtype.str());
    if (rounds == Rounds::Coarse && dtype == DType::int32())
      rounds = Rounds::Twice, sum = c.cast(sum, DType::int32());  // LiteRT's sums are as wide as the bias
    sum = c.emit("nn.bias_add", {sum, c.cast(bias, c.dtype(sum))}, {{"axis", int64_t{-1}}});
  }
  const Quantization& q = *c.input_entry(of.weight).quantization;
  // The product of scales is a float for one scale, and a double for one scale for each channel.
  std::vector<double> factors;
  const bool in_double = q.per_axis() || is_wide || (!is_dense && in->dtype == DType::int8());
  for (float scale : q.scales)
    factors.push_back((in_double ? static_cast<double>(in->scale) * static_cast<double>(scale)
                                 : static_cast<double>(in->scale * scale)) /
                      static_cast<double>(out->scale));
  return {quantized_activation(c, scaled(c, sum, factors, rounds, out->zero, out->dtype))};
}

Values quantized_product(Convert& c, const char* op, const Expr& x, const Expr& weight, const EmitAttrs& attrs,
                         int64_t channel_axis) {
  return quantized_result(c, quantized_sum(c, op, x, weight, attrs, channel_axis));
}

Expr quantized_features(Convert& c) {
  const std::optional<Scale> in = scale_of(c, c.input_entry(0)), weight = scale_of(c, c.input_entry(1)),
                             state = scale_of(c, c.input_entry(4));
  if (!in || !weight || !state) return nullptr;
  if (in->dtype != DType::int8() || weight->dtype != DType::int8() || state->dtype != DType::int16())
    return c.unsupported("data of {} with a weight of {} and a state of {}", in->dtype.str(), weight->dtype.str(),
                         state->dtype.str());
  const Expr one = c.scalar(1, DType::float32());
  const Expr sum = c.emit("qnn.dense", {c.input(0), c.input(1), one, zero_point(c, in->zero), one, zero_point(c, 0)});
  return scaled(c, sum, {static_cast<double>(in->scale * weight->scale / state->scale)}, Rounds::Twice, 0,
                DType::int16());
}

Expr quantized_units(Convert& c, const Expr& sums) {
  const std::optional<Scale> state = scale_of(c, c.input_entry(4)), weight = scale_of(c, c.input_entry(2)),
                             out = scale_of(c, c.output_entry(0));
  if (!state || !weight || !out) return nullptr;
  const Expr total = c.has(3) ? c.add(sums, c.input(3)) : sums;
  return scaled(c, total, {static_cast<double>(state->scale * weight->scale / out->scale)}, Rounds::Twice, out->zero,
                out->dtype);
}

// --- two operands ----------------------------------------------------------------------------------------------------

// Sums are computed in units of 2^-20 of twice the larger scale, or 2^-15 for data of 16 bits.
Values quantized_binary(Convert& c, const char* op) {
  const std::optional<Scale> a = scale_of(c, c.input_entry(0)), b = scale_of(c, c.input_entry(1)),
                             out = scale_of(c, c.output_entry(0));
  if (!a || !b || !out) return {};
  const bool is_wide = a->dtype == DType::int16() && b->dtype == DType::int16();
  if (!is_wide && (a->dtype.bits != 8 || b->dtype.bits != 8))
    return c.unsupported("quantised data of {} and {}", a->dtype.str(), b->dtype.str());
  if (is_wide && std::string_view(op) != "multiply" && c.flag("pot_scale_int16"))
    return c.unsupported("data of int16 with the option pot_scale_int16");
  auto centred = [&](size_t i, const Scale& s) {
    return c.subtract(c.cast(c.input(i), DType::int32()), zero_point(c, s.zero));
  };
  const Expr x = centred(0, *a), y = centred(1, *b);
  if (std::string_view(op) == "multiply") {
    const float factor = a->scale * b->scale / out->scale;
    return {quantized_activation(c, scaled(c, c.multiply(x, y), {factor}, Rounds::Twice, out->zero, out->dtype))};
  }
  const int64_t unit = is_wide ? 1 << 15 : 1 << 20;
  const double twice = 2 * static_cast<double>(std::max(a->scale, b->scale));
  auto raised = [&](const Expr& e, const Scale& s) {
    return scaled(c, c.multiply(e, zero_point(c, unit)), {static_cast<double>(s.scale) / twice}, Rounds::Twice, 0,
                  DType::int32());
  };
  const Expr sum = c.emit(op, {raised(x, *a), raised(y, *b)});
  const double factor = twice / (static_cast<double>(unit) * static_cast<double>(out->scale));
  return {quantized_activation(c, scaled(c, sum, {factor}, Rounds::Twice, out->zero, out->dtype))};
}

// Differences are computed in units of 2^-7 of twice the larger scale.
Expr quantized_squared_difference(Convert& c) {
  const std::optional<Scale> a = scale_of(c, c.input_entry(0)), b = scale_of(c, c.input_entry(1)),
                             out = scale_of(c, c.output_entry(0));
  if (!a || !b || !out) return nullptr;
  for (const std::optional<Scale>& s : {a, b, out})
    if (s->dtype != DType::int8()) return c.unsupported("quantised data of {}", s->dtype.str());
  constexpr int64_t unit = 1 << 7;
  const double twice = 2 * static_cast<double>(std::max(a->scale, b->scale));
  auto raised = [&](size_t i, const Scale& s) {
    const Expr centred = c.subtract(c.cast(c.input(i), DType::int32()), zero_point(c, s.zero));
    return scaled(c, c.multiply(centred, zero_point(c, unit)), {static_cast<double>(s.scale) / twice}, Rounds::Twice, 0,
                  DType::int32());
  };
  const Expr difference = c.subtract(raised(0, *a), raised(1, *b));
  const double factor = twice * twice / (static_cast<double>(unit * unit) * static_cast<double>(out->scale));
  return scaled(c, c.multiply(difference, difference), {factor}, Rounds::Twice, out->zero, out->dtype);
}

// Both in units of 2^-8.
Expr quantized_comparison(Convert& c, const char* op) {
  const std::optional<Scale> a = scale_of(c, c.input_entry(0)), b = scale_of(c, c.input_entry(1));
  if (!a || !b) return nullptr;
  if (a->dtype.bits != 8 || b->dtype.bits != 8) return c.unsupported("quantised data of {}", a->dtype.str());
  auto raised = [&](size_t i, const Scale& s) {
    const Expr centred = c.subtract(c.cast(c.input(i), DType::int32()), zero_point(c, s.zero));
    return scaled(c, c.multiply(centred, zero_point(c, 256)), {s.scale}, Rounds::Twice, 0, DType::int32());
  };
  return c.emit(op, {raised(0, *a), raised(1, *b)});
}

Expr quantized_leaky(Convert& c, float slope, const Expr& alpha) {
  const std::optional<Scale> in = scale_of(c, c.input_entry(0)), out = scale_of(c, c.output_entry(0));
  if (!in || !out) return nullptr;
  if (in->dtype.bits != 8 && in->dtype != DType::int16()) return c.unsupported("quantised data of {}", in->dtype.str());
  const Expr x = c.subtract(c.cast(c.input(0), DType::int32()), zero_point(c, in->zero));
  const Expr is_below = c.emit("less", {x, zero_point(c, 0)});
  const float kept = in->scale / out->scale, sloped = in->scale * slope / out->scale;
  return c.emit("where",
                {is_below, scaled(c, alpha ? c.multiply(x, alpha) : x, {sloped}, Rounds::Twice, out->zero, out->dtype),
                 scaled(c, x, {kept}, Rounds::Twice, out->zero, out->dtype)});
}

Expr quantized_mean_pool(Convert& c, const Expr& x, EmitAttrs attrs) {
  const std::optional<Scale> out = scale_of(c, c.output_entry(0));
  if (!out) return nullptr;
  const DType exact = c.dtype(x).bits > 8 ? DType::float64() : DType::float32();  // of sums of a window
  const Expr mean = c.emit("nn.avg_pool2d", {c.cast(x, exact)}, attrs);
  return quantized_activation(c, c.cast(rounded(c, mean), out->dtype));
}

// --- conversions -----------------------------------------------------------------------------------------------------

namespace convert {

// Reals to integers, halves away from zero; or integers to those of another scale.
Values QUANTIZE(Convert& c) {
  if (c.is_quantized_input(0)) return {requantized(c, c.input(0), c.input_entry(0), c.output_entry(0))};
  const std::optional<Scale> out = scale_of(c, c.output_entry(0));
  if (!out) return {};
  const auto [least, most] = range_of(out->dtype);
  if (out->dtype.bits > 16) return c.unsupported("it quantises to {}", out->dtype.str());
  Expr steps = rounded(c, c.divide(c.input(0), c.scalar(out->scale, DType::float32())));
  steps = c.emit("clip", {steps},
                 {{"a_min", static_cast<double>(least - out->zero)}, {"a_max", static_cast<double>(most - out->zero)}});
  return {c.cast(c.add(steps, static_cast<double>(out->zero)), out->dtype)};
}

// Integers to reals. Weights of half precision are of no scale.
Values DEQUANTIZE(Convert& c) {
  const TensorEntry& entry = c.input_entry(0);
  Expr x = c.input(0);
  if (c.dtype(x).is_float()) return {c.cast(x, DType::float32())};
  if (!entry.is_quantized()) return c.bad("its input has no scale");
  return {dequantized(c, x, entry)};
}

// A sparse constant becomes a dense one.
Values DENSIFY(Convert& c) { return {c.input(0)}; }

}  // namespace convert
}  // namespace relay::tflite
