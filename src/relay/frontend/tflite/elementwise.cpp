// Operators element by element: arithmetic, comparison, logic, activations. Those on sizes (known elements) are
// computed at import.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "relay/frontend/common/ops/curves.h"
#include "relay/frontend/tflite/quantize.h"

namespace relay::tflite::convert {

using ir::Expr;
using scalar::BinaryOp;

// --- two operands ----------------------------------------------------------------------------------------------------

// A call of `op`; known elements if both operands are known.
static Values binary(Convert& c, const char* op, std::optional<BinaryOp> folded = {}, bool swap = false) {
  KnownRef a = c.known(0), b = c.known(1);
  auto written = [&] { return c.emit(op, {c.input(0), c.input(1)}); };
  if (folded && a && b && !a->dtype.is_float())
    if (KnownRef result = swap ? frontend::binary(*folded, *b, *a) : frontend::binary(*folded, *a, *b))
      return {c.known_result(result, written)};
  return {written()};
}

// The same with a fused activation, or in integers if the operands are quantised.
static Values arithmetic(Convert& c, const char* op, BinaryOp folded) {
  if (c.is_quantized_input(0) || c.is_quantized_output()) return quantized_binary(c, op);
  if (c.integer("fused_activation_function", 0) == 0) return binary(c, op, folded);
  return {c.activated(c.emit(op, {c.input(0), c.input(1)}))};
}

Values ADD(Convert& c) { return arithmetic(c, "add", BinaryOp::Add); }
Values SUB(Convert& c) { return arithmetic(c, "subtract", BinaryOp::Sub); }
Values MUL(Convert& c) { return arithmetic(c, "multiply", BinaryOp::Mul); }
Values DIV(Convert& c) {
  if (c.is_quantized_input(0) || c.is_quantized_output()) return {quantized_quotient(c)};
  return arithmetic(c, "divide", BinaryOp::Div);
}
Values MAXIMUM(Convert& c) { return binary(c, "maximum", BinaryOp::Max); }
Values MINIMUM(Convert& c) { return binary(c, "minimum", BinaryOp::Min); }
Values POW(Convert& c) { return binary(c, "power"); }
Values FLOOR_DIV(Convert& c) { return binary(c, "floor_divide", BinaryOp::FloorDiv); }
Values FLOOR_MOD(Convert& c) { return binary(c, "floor_mod", BinaryOp::FloorMod); }
Values BITWISE_XOR(Convert& c) { return binary(c, "bitwise_xor"); }
Values RIGHT_SHIFT(Convert& c) { return binary(c, "right_shift"); }

static Values comparison(Convert& c, const char* op, std::optional<BinaryOp> folded = {}, bool swap = false) {
  if (c.is_quantized_input(0)) return {quantized_comparison(c, op)};
  return binary(c, op, folded, swap);
}
Values LESS(Convert& c) { return comparison(c, "less", BinaryOp::Lt); }
Values LESS_EQUAL(Convert& c) { return comparison(c, "less_equal", BinaryOp::Le); }
Values GREATER(Convert& c) { return comparison(c, "greater", BinaryOp::Lt, true); }
Values GREATER_EQUAL(Convert& c) { return comparison(c, "greater_equal", BinaryOp::Le, true); }
Values EQUAL(Convert& c) { return comparison(c, "equal", BinaryOp::Eq); }
Values NOT_EQUAL(Convert& c) { return comparison(c, "not_equal"); }

Values LOGICAL_AND(Convert& c) { return binary(c, "logical_and"); }
Values LOGICAL_OR(Convert& c) { return binary(c, "logical_or"); }

Values SQUARED_DIFFERENCE(Convert& c) {
  if (c.is_quantized_input(0)) return {quantized_squared_difference(c)};
  Expr difference = c.subtract(c.input(0), c.input(1));
  return {c.multiply(difference, difference)};
}

// The angle of the point (x, y) with the axis of x: that of (|x|, |y|), reflected. The signs of zeros count.
Values ATAN2(Convert& c) {
  Expr y = c.input(0), x = c.input(1);
  const DType dtype = c.dtype(y);
  auto number = [&](double value) { return c.scalar(value, dtype); };
  auto is_negative = [&](const Expr& e) {
    const Expr of_zeros = c.emit("less", {c.divide(number(1), e), number(0)});
    return c.emit("where", {c.emit("equal", {e, number(0)}), of_zeros, c.emit("less", {e, number(0)})});
  };
  const Expr tall = c.emit("abs", {y}), wide = c.emit("abs", {x}), origin = c.emit("equal", {tall, number(0)});
  Expr ratio = c.emit("where", {c.emit("equal", {tall, wide}), number(1), c.divide(tall, wide)});
  Expr angle = c.emit("atan", {c.emit("where", {origin, number(0), ratio})});
  angle = c.emit("where", {is_negative(x), c.subtract(number(std::numbers::pi), angle), angle});
  return {c.emit("where", {is_negative(y), c.emit("negative", {angle}), angle})};
}

Values ADD_N(Convert& c) {
  ir::Exprs all = c.all_inputs();
  Expr sum = all[0];
  for (size_t i = 1; i < all.size(); ++i) sum = c.add(sum, all[i]);
  return {sum};
}

Values STABLEHLO_ADD(Convert& c) { return binary(c, "add", BinaryOp::Add); }
Values STABLEHLO_MULTIPLY(Convert& c) { return binary(c, "multiply", BinaryOp::Mul); }
Values STABLEHLO_MAXIMUM(Convert& c) { return binary(c, "maximum", BinaryOp::Max); }
Values STABLEHLO_MINIMUM(Convert& c) { return binary(c, "minimum", BinaryOp::Min); }
Values STABLEHLO_AND(Convert& c) { return binary(c, c.dtype(c.input(0)).is_bool() ? "logical_and" : "bitwise_and"); }
Values STABLEHLO_SHIFT_LEFT(Convert& c) { return binary(c, "left_shift"); }

// --- one operand -----------------------------------------------------------------------------------------------------

static Values unary(Convert& c, const char* op) { return {c.emit(op, {c.input(0)})}; }

// A function of reals, or a table of it for quantised data.
static Values activation(Convert& c, function_ref<Expr(const Expr& x)> real, function_ref<float(float x)> number) {
  return {c.is_quantized_input(0) ? quantized_function(c, number) : real(c.input(0))};
}

Values ABS(Convert& c) {
  if (c.is_quantized_input(0)) return {quantized_abs(c)};
  return unary(c, "abs");
}
Values CEIL(Convert& c) { return unary(c, "ceil"); }
Values COS(Convert& c) { return unary(c, "cos"); }
Values EXP(Convert& c) {
  return activation(c, [&](const Expr& x) { return c.emit("exp", {x}); }, [](float x) { return std::exp(x); });
}
Values FLOOR(Convert& c) { return unary(c, "floor"); }
Values LOG(Convert& c) {
  if (c.is_quantized_input(0)) return {quantized_log(c)};
  return unary(c, "log");
}
Values LOGICAL_NOT(Convert& c) { return unary(c, "logical_not"); }
Values ROUND(Convert& c) { return unary(c, "round"); }  // halves to even, in both
Values RSQRT(Convert& c) {
  if (c.is_quantized_input(0)) return {quantized_rsqrt(c)};
  return unary(c, "rsqrt");
}
Values SIGN(Convert& c) { return unary(c, "sign"); }
Values SIN(Convert& c) { return unary(c, "sin"); }
Values SQRT(Convert& c) { return unary(c, "sqrt"); }
Values ZEROS_LIKE(Convert& c) { return unary(c, "zeros_like"); }
Values SQUARE(Convert& c) {
  Expr x = c.input(0);
  return {c.multiply(x, x)};
}
Values NEG(Convert& c) {
  if (KnownRef known = c.known(0); known && !known->dtype.is_float())
    if (KnownRef result = frontend::unary(scalar::UnaryOp::Neg, *known)) return {result};
  return unary(c, "negative");
}

// --- activations -----------------------------------------------------------------------------------------------------

static Expr clipped(Convert& c, const Expr& x, double low, double high) {
  return c.emit("clip", {x}, {{"a_min", low}, {"a_max", high}});
}

Values RELU(Convert& c) {
  if (c.is_quantized_input(0)) return {quantized_clip(c, 0, INFINITY)};
  return unary(c, "nn.relu");
}
Values RELU6(Convert& c) {
  if (c.is_quantized_input(0)) return {quantized_clip(c, 0, 6)};
  return {clipped(c, c.input(0), 0, 6)};
}
Values RELU_N1_TO_1(Convert& c) {
  if (c.is_quantized_input(0)) return {quantized_clip(c, -1, 1)};
  return {clipped(c, c.input(0), -1, 1)};
}
Values RELU_0_TO_1(Convert& c) {
  if (c.is_quantized_input(0)) return {quantized_clip(c, 0, 1)};
  return {clipped(c, c.input(0), 0, 1)};
}
static bool is_wide(Convert& c) { return c.is_quantized_input(0) && c.dtype(c.input(0)).bits == 16; }

Values LOGISTIC(Convert& c) {
  if (is_wide(c)) return {quantized_sigmoid(c, false)};
  return activation(
      c, [&](const Expr& x) { return c.emit("sigmoid", {x}); }, [](float x) { return 1.0F / (1.0F + std::exp(-x)); });
}
Values TANH(Convert& c) {
  if (is_wide(c)) return {quantized_sigmoid(c, true)};
  return activation(c, [&](const Expr& x) { return c.emit("tanh", {x}); }, [](float x) { return std::tanh(x); });
}
Values ELU(Convert& c) {
  if (c.is_quantized_input(0)) return {quantized_function(c, [](float x) { return x < 0 ? std::expm1(x) : x; })};
  Expr x = c.input(0), zero = c.scalar(0, c.dtype(x));
  const Expr below = c.emit("expm1", {c.emit("minimum", {x, zero})});
  return {c.emit("where", {c.emit("less", {x, zero}), below, x})};
}
// x * relu6(x + 3) / 6
Values HARD_SWISH(Convert& c) {
  if (c.is_quantized_input(0)) return {quantized_hard_swish(c)};
  Expr x = c.input(0);
  return {c.multiply(c.multiply(x, clipped(c, c.add(x, 3), 0, 6)), 1.0 / 6)};
}
Values LEAKY_RELU(Convert& c) {
  if (c.is_quantized_input(0)) return {quantized_leaky(c, static_cast<float>(c.real("alpha", 0)))};
  return {c.emit("nn.leaky_relu", {c.input(0)}, {{"alpha", c.real("alpha", 0)}})};
}

// x * Phi(x), or its approximation by tanh.
Values GELU(Convert& c) {
  if (!c.is_quantized_input(0)) return {gelu(c, c.input(0), c.flag("approximate"))};
  if (!c.flag("approximate"))
    return {quantized_function(
        c, [](float x) { return 0.5F * x * std::erfc(-x * static_cast<float>(std::numbers::sqrt2 / 2)); })};
  return {quantized_function(c, [](float x) {
    const float twice = 2 / std::sqrt(std::numbers::pi_v<float>) * static_cast<float>(std::numbers::sqrt2 / 2);
    return 0.5F * x * (1 + std::tanh(twice * (x + 0.044715F * x * x * x)));
  })};
}

// A slope for each element of the last axes: alpha has no axis for the batch.
Values PRELU(Convert& c) {
  Expr x = c.input(0), alpha = c.input(1);
  if (c.is_quantized_input(0)) {
    const std::optional<Scale> slope = scale_of(c, c.input_entry(1));
    if (!slope) return {};
    return {quantized_leaky(c, slope->scale, c.add(c.cast(alpha, DType::int32()), static_cast<double>(-slope->zero)))};
  }
  const Expr below = c.emit("less", {x, c.scalar(0, c.dtype(x))});
  return {c.emit("where", {below, c.multiply(x, alpha), x})};
}

Values SOFTMAX(Convert& c) {
  if (c.is_quantized_input(0)) return {quantized_softmax(c, c.real("beta", 1))};
  return {c.emit("nn.softmax", {c.multiply(c.input(0), c.real("beta", 1))}, {{"axis", int64_t{-1}}})};
}
Values LOG_SOFTMAX(Convert& c) {
  if (c.is_quantized_input(0)) return {quantized_log_softmax(c)};
  return {c.emit("nn.log_softmax", {c.input(0)}, {{"axis", int64_t{-1}}})};
}

// --- selection and types ---------------------------------------------------------------------------------------------

// Before SELECT_V2, a condition of one axis chose rows.
Values SELECT(Convert& c) {
  Expr condition = c.input(0), a = c.input(1), b = c.input(2);
  const bool by_rows = c.rank(condition) == 1 && c.rank(a) > 1;
  while (by_rows && condition && c.rank(condition) < c.rank(a)) condition = c.expand(condition, c.rank(condition));
  return {c.emit("where", {condition, a, b})};
}
Values SELECT_V2(Convert& c) {
  KnownRef condition = c.known(0), a = c.known(1), b = c.known(2);
  if (condition && a && b)
    if (KnownRef result = where(*condition, *a, *b)) return {result};
  return {c.emit("where", {c.input(0), c.input(1), c.input(2)})};
}

Values CAST(Convert& c) {
  const std::optional<DType> to = type_dtype(c.output_entry(0).type);
  if (!to) return c.unsupported("its result has elements of {}", type_name(c.output_entry(0).type));
  if (KnownRef known = c.known(0))
    if (KnownRef result = frontend::cast(*known, *to)) return {result};
  return {c.cast(c.input(0), *to)};
}

static DType unsigned_of(int bits) { return {DType::Code::UInt, static_cast<uint8_t>(bits)}; }

// The bits of each element as those of another type: several shorter ones along a new last axis, the lowest first, or
// the last axis as the parts of a longer one.
Values BITCAST(Convert& c) {
  const Expr x = c.input(0);
  const std::optional<DType> to = type_dtype(c.output_entry(0).type);
  const DType from = c.dtype(x);
  if (!to || to->is_bool() || from.is_bool())
    return c.unsupported("bits of {} as {}", from.str(), type_name(c.output_entry(0).type));
  if (from.bits == to->bits) return {c.emit("reinterpret", {x}, {{"dtype", *to}})};
  const DType narrow = unsigned_of(std::min(from.bits, to->bits)), wide = unsigned_of(std::max(from.bits, to->bits));
  const int64_t parts = wide.bits / narrow.bits;
  Tensor places = Tensor::empty({parts}, wide);
  for (int64_t i = 0; i < parts; ++i) places.set_int(i, i * narrow.bits);
  const Expr shifts = c.constant(std::move(places));
  const Expr bits = c.emit("reinterpret", {x}, {{"dtype", unsigned_of(from.bits)}});
  if (from.bits > to->bits) {
    const Expr all = c.emit("right_shift", {c.expand(bits, c.rank(x)), shifts});
    const Expr kept =
        c.emit("bitwise_and", {all, c.constant(Tensor::full({}, wide, std::ldexp(1.0, narrow.bits) - 1))});
    return {c.emit("reinterpret", {c.cast(kept, narrow)}, {{"dtype", *to}})};
  }
  const int64_t last = c.rank(x) - 1;
  if (last < 0 || c.extent(x, last) != parts)
    return c.bad("{} needs a last axis of {} elements for {}", ir::str(x->type), parts, to->str());
  const Expr sum = c.reduce("sum", c.emit("left_shift", {c.cast(bits, wide), shifts}), {last}, false);
  return {c.emit("reinterpret", {sum}, {{"dtype", *to}})};
}

// Reals rounded to those that integers of num_bits bits can stand for, from about min to about max: 0 is one of them.
Values FAKE_QUANT(Convert& c) {
  const double bits = static_cast<double>(c.integer("num_bits", 8));
  const float least = 0, most = static_cast<float>(std::exp2(bits)) - 1;
  if (c.flag("narrow_range")) return c.unsupported("narrow_range, which is of weights");
  const float low = static_cast<float>(c.real("min", 0)), high = static_cast<float>(c.real("max", 0));
  if (!(bits >= 2 && bits <= 16) || !(low <= 0 && high >= 0 && low < high))
    return c.bad("num_bits is {}, min {} and max {}", bits, low, high);
  const float scale = (high - low) / (most - least), zero = std::clamp(std::round(least - low / scale), least, most);
  const float first = (least - zero) * scale, last = (most - zero) * scale;
  auto number = [&](float value) { return c.scalar(static_cast<double>(value), DType::float32()); };
  const Expr kept = c.emit("minimum", {number(last), c.emit("maximum", {number(first), c.input(0)})});
  const Expr steps = rounded(c, c.multiply(c.subtract(kept, number(first)), number(1 / scale)));
  return {c.add(c.multiply(steps, number(scale)), number(first))};
}

}  // namespace relay::tflite::convert
