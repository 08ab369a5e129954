#include "relay/op/qnn/quantized.h"

namespace relay::op::qnn {

bool is_quantized(DType dtype) { return dtype.is_int() && (dtype.bits < 32 || dtype == DType::int32()); }

Status expect_quantized(const char* number, const TensorType* type, const char* name) {
  if (is_quantized(type->dtype)) return ok();
  Diagnostic d =
      constraint(number, "{} must be int8, uint8, int16, uint16 or int32, but is {}", name, type->dtype.str());
  if (type->dtype.is_float()) d.help = "quantise it with qnn.quantize";
  return d;
}

// The type of a scale (`which` is 0) or zero point (1).
static Result<const TensorType*> parameter(const char* number, const Types& in, size_t k, size_t which,
                                           const std::string& what) {
  RELAY_ASSIGN(const TensorType* t, tensor_input(in, k + which, what.c_str()));
  if (which == 0 ? t->dtype.is_float() : t->dtype.is_int()) return t;
  Diagnostic d =
      constraint(number, "{} must be {}, but is {}", what, which == 0 ? "a float" : "integers", t->dtype.str());
  d.help = "the scale of a tensor, a float, comes before its zero point, an integer";
  return d;
}

static std::string parameter_name(const char* name, size_t which) {
  return format("{}_{}", name, which == 0 ? "scale" : "zero_point");
}

Status expect_block_parameters(const char* number, const Types& in, size_t k, const char* name, const Dims& blocks) {
  for (size_t which : {0, 1}) {
    const std::string what = parameter_name(name, which);
    RELAY_ASSIGN(const TensorType* t, parameter(number, in, k, which, what));
    bool fits = t->shape.size() == blocks.size();
    for (size_t d = 0; fits && d < blocks.size(); ++d) fits = agree(t->shape[d], blocks[d]);
    if (!t->shape.empty() && !fits)
      return constraint(number, "{} must be one value or {}, one for each block, but its shape is {}", what,
                        text(blocks), text(t->shape));
  }
  return ok();
}

Status expect_parameters(const char* number, const Types& in, size_t k, const char* name, const Dim& extent) {
  for (size_t which : {0, 1}) {
    const std::string what = parameter_name(name, which);
    RELAY_ASSIGN(const TensorType* t, parameter(number, in, k, which, what));
    if (t->shape.empty() || (extent && t->shape.size() == 1 && agree(t->shape[0], extent))) continue;
    if (!extent) return constraint(number, "{} must be one value, but its shape is {}", what, text(t->shape));
    return constraint(number, "{} must be one value or {}, but its shape is {}", what, text(Dims{extent}),
                      text(t->shape));
  }
  return ok();
}

std::pair<int64_t, int64_t> range_of(DType dtype) {
  const bool is_signed = dtype.code == DType::Code::Int;
  const int64_t end = int64_t{1} << (dtype.bits - (is_signed ? 1 : 0));
  return {is_signed ? -end : 0, end - 1};
}

Expr saturated(const Expr& value, DType dtype) {
  auto [least, most] = range_of(dtype);
  return cast(dtype, min(max(value, dim(least)), dim(most)));
}

std::optional<int64_t> known_zero_point(const te::Tensor& zero_point, DType type) {
  if (!zero_point->body || !scalar::is_int(zero_point->body)) return std::nullopt;
  const auto [least, most] = range_of(type);
  const int64_t value = zero_point->body->ivalue;
  return least <= value && value <= most ? std::optional(value) : std::nullopt;
}

// The parts of a double: bits 52 to 62 are the exponent, the lower bits the fraction. Scales and their quotients are
// not subnormal doubles; 0 has the multiplier 0.
Factors factors(const te::Tensor& real) {
  auto bits = [](const Expr& x) { return scalar::reinterpret(DType::int64(), x); };
  auto down = [](const Expr& x, int64_t by) { return scalar::binary(BinaryOp::Shr, x, dim(by)); };
  // The 53 bits of the fraction, rounded to 31; 2^31 if that carries.
  auto rounded = [=](const Expr& x) {
    Expr fraction = scalar::binary(BinaryOp::BitAnd, bits(x), dim((int64_t{1} << 52) - 1)) + (int64_t{1} << 52);
    return down(fraction + (int64_t{1} << 21), 22);
  };
  Factors f;
  f.real = real;
  const Expr carry = dim(int64_t{1} << 31), zero = number(0, DType::float64());
  f.multiplier = elementwise("multiplier", real, [&](const Exprs& i) {
    Expr m = rounded((*real)(i));
    const Expr value = select(eq((*real)(i), zero), dim(0), select(eq(m, carry), dim(int64_t{1} << 30), m));
    return cast(DType::int32(), value);
  });
  f.shift = elementwise("shift", real, [&](const Exprs& i) {
    Expr exponent = scalar::binary(BinaryOp::BitAnd, down(bits((*real)(i)), 52), dim(2047)) - 1022;
    Expr carried = exponent + cast(DType::int64(), eq(rounded((*real)(i)), carry));
    return cast(DType::int32(), select(eq((*real)(i), zero), dim(0), carried));
  });
  return f;
}

Factors ratio(const te::Tensor& scale, const te::Tensor& output_scale) {
  return factors(elementwise("factor", scale, [&](const Exprs& i) {
    return divide(cast(DType::float64(), (*scale)(i)), cast(DType::float64(), (*output_scale)({})));
  }));
}

Expr requantized(const Expr& value, const Factors& factor, const Exprs& at, const Expr& output_zero_point,
                 const Requantize& r) {
  Expr product;
  if (r.compute.is_float()) {
    Expr real = cast(r.compute, value) * cast(r.compute, (*factor.real)(at));
    real = r.rounding == Rounding::HalvesUp ? unary(UnaryOp::Floor, real + number(0.5, r.compute))
                                            : unary(UnaryOp::Round, real);
    // Integers of 16 bits are exact in floats, and larger numbers are outside of the range with and without the zero
    // point. The cast saturates.
    if (r.dtype.bits <= 16 && output_zero_point->dtype.is_float()) return cast(r.dtype, real + output_zero_point);
    product = cast(DType::int64(), real);
  } else {
    const Expr shift = cast(DType::int64(), (*factor.shift)(at)), none = dim(0),
               multiplier = cast(DType::int64(), (*factor.multiplier)(at));
    product = fixed_point_product(value, multiplier, max(shift, none), max(none - shift, none), r.rounding);
  }
  return saturated(product + output_zero_point, r.dtype);
}

te::Tensor requantized(const te::Tensor& data, const Parameters& from, const te::Tensor& output_scale,
                       const te::Tensor& output_zero_point, const Requantize& r) {
  Factors factor;
  const bool is_one =
      output_scale->body && output_scale->body->kind == scalar::Kind::Float && output_scale->body->fvalue == 1;
  if (is_one && from.scale->dtype == r.compute)
    factor.real = from.scale;  // no division for every element
  else
    factor = ratio(from.scale, output_scale);
  // Floats take int32, if the difference fits.
  const std::optional<int64_t> zero = known_zero_point(from.zero_point, data->dtype);
  const bool narrow =
      r.compute.is_float() && zero && (data->dtype.bits <= 16 || (data->dtype.bits == 32 && *zero == 0));
  const DType wide = narrow ? DType::int32() : DType::int64();
  const std::optional<int64_t> output_zero = known_zero_point(output_zero_point, r.dtype);
  const bool is_short = r.compute.is_float() && (output_zero || output_zero_point->dtype.bits <= 16);
  return elementwise("requantized", data, [&](const Exprs& i) {
    Expr value = cast(wide, (*data)(i)) - from.zero_at(i, wide);
    Exprs at = from.scale->shape.empty() ? Exprs{} : Exprs{i[from.axis]};
    const Expr to = output_zero ? dim(*output_zero) : (*output_zero_point)({});
    return requantized(value, factor, at, cast(is_short ? r.compute : DType::int64(), to), r);
  });
}

te::Tensor shifted(const char* name, const te::Tensor& data, const Parameters& p) {
  return elementwise(name, data,
                     [&](const Exprs& i) { return cast(DType::int32(), (*data)(i)) - p.zero_at(i, DType::int32()); });
}

Expr quantized(const Expr& value, const Expr& scale, const Expr& zero_point, DType dtype, bool round_first) {
  const DType wide = value->dtype;
  auto [least, most] = range_of(dtype);
  const bool is_one = scale->kind == scalar::Kind::Float && scale->fvalue == 1;
  const Expr steps = is_one ? value : divide(value, cast(wide, scale)), zero = cast(wide, zero_point);
  if (round_first) return cast(dtype, unary(UnaryOp::Round, steps) + zero);  // saturates
  Expr limited =
      min(max(steps + zero, number(static_cast<double>(least), wide)), number(static_cast<double>(most), wide));
  return cast(dtype, unary(UnaryOp::Round, limited));
}

Expr dequantized(const Expr& value, const Expr& scale, const Expr& zero_point) {
  const DType wide = accumulator(scale->dtype), steps = value->dtype.is_float() ? wide : DType::int32();
  return cast(wide, cast(steps, value) - cast(steps, zero_point)) * cast(wide, scale);
}

}  // namespace relay::op::qnn
