// Elementwise functions of one number: out[i] = f(data[i]), computed in float32 for the half precisions. One row per
// function, with its derivative if it has one.
#include <limits>
#include <numbers>

#include "relay/op/gradient.h"

namespace relay::ops {
namespace unary_cpp {
namespace {

// The element types that a function accepts. If integers are their own result (floor), nothing is computed.
enum class Takes { Numbers, Floats, FloatsElseSame, Bools, Integers };

struct Row {
  const char* name;
  const char* doc;
  Takes takes;
  Expr (*value)(const Expr& x);
  const char* oracle;
  double low = -2, high = 2;  // of the example's values
  bool test = false;          // the result is bool
};

using grad::Value;
using Slope = Value (*)(const Value& x, const Value& y, const Value& dy);  // y = f(x); null: flat, no gradient

Value one(const Value& x) { return grad::number(1, x); }
Value square(const Value& x) { return grad::times(x, x); }
Value rsqrt(Value x) { return grad::call("rsqrt", {std::move(x)}); }
Value scaled(const Value& dy, const Value& x, double factor) { return grad::times(dy, grad::number(factor, x)); }
Value slope_of_log(const Value& x, const Value& dy, double base_log) {
  return grad::over(dy, base_log == 1 ? x : grad::times(x, grad::number(base_log, x)));
}
Value slope_of_exp(const Value&, const Value& y, const Value& dy) { return grad::times(dy, y); }
Value slope_of_erf(const Value& x, const Value&, const Value& dy) {
  return scaled(grad::times(dy, grad::call("exp", {grad::negated(square(x))})), x, 2 * std::numbers::inv_sqrtpi);
}
Value slope_of_erfc(const Value& x, const Value& y, const Value& dy) { return grad::negated(slope_of_erf(x, y, dy)); }
// The normal distribution's probability of less than x, plus x times its density.
Value slope_of_gelu(const Value& x, const Value&, const Value& dy) {
  const Value below = scaled(grad::call("erfc", {scaled(x, x, -std::numbers::sqrt2 / 2)}), x, 0.5);
  const Value density =
      scaled(grad::call("exp", {scaled(square(x), x, -0.5)}), x, std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  return grad::times(dy, grad::plus(below, grad::times(x, density)));
}
Value slope_of_tanh(const Value& x, const Value& y, const Value& dy) {
  return grad::times(dy, grad::minus(one(x), square(y)));
}

const struct {
  const char* name;
  Slope slope;
} slopes[] = {
    {"abs", [](auto& x, auto&, auto& dy) { return grad::times(dy, grad::call("sign", {x})); }},
    {"acos",
     [](auto& x, auto&, auto& dy) { return grad::negated(grad::times(dy, rsqrt(grad::minus(one(x), square(x))))); }},
    {"acosh", [](auto& x, auto&, auto& dy) { return grad::times(dy, rsqrt(grad::minus(square(x), one(x)))); }},
    {"asin", [](auto& x, auto&, auto& dy) { return grad::times(dy, rsqrt(grad::minus(one(x), square(x)))); }},
    {"asinh", [](auto& x, auto&, auto& dy) { return grad::times(dy, rsqrt(grad::plus(square(x), one(x)))); }},
    {"atan", [](auto& x, auto&, auto& dy) { return grad::over(dy, grad::plus(square(x), one(x))); }},
    {"atanh", [](auto& x, auto&, auto& dy) { return grad::over(dy, grad::minus(one(x), square(x))); }},
    {"ceil", nullptr},
    {"copy", [](auto&, auto&, auto& dy) { return dy; }},
    {"cos", [](auto& x, auto&, auto& dy) { return grad::negated(grad::times(dy, grad::call("sin", {x}))); }},
    {"cosh", [](auto& x, auto&, auto& dy) { return grad::times(dy, grad::call("sinh", {x})); }},
    {"erf", slope_of_erf},
    {"erfc", slope_of_erfc},
    {"exp", slope_of_exp},
    {"expm1", [](auto& x, auto& y, auto& dy) { return grad::times(dy, grad::plus(y, one(x))); }},
    {"fast_erf", slope_of_erf},
    {"fast_exp", slope_of_exp},
    {"fast_tanh", slope_of_tanh},
    {"floor", nullptr},
    {"log", [](auto& x, auto&, auto& dy) { return slope_of_log(x, dy, 1); }},
    {"log10", [](auto& x, auto&, auto& dy) { return slope_of_log(x, dy, std::numbers::ln10); }},
    {"log1p", [](auto& x, auto&, auto& dy) { return grad::over(dy, grad::plus(x, one(x))); }},
    {"log2", [](auto& x, auto&, auto& dy) { return slope_of_log(x, dy, std::numbers::ln2); }},
    {"negative", [](auto&, auto&, auto& dy) { return grad::negated(dy); }},
    {"nn.gelu", slope_of_gelu},
    // The derivative is 0 at 0, and for NaN.
    {"nn.relu",
     [](auto& x, auto&, auto& dy) {
       return grad::call("where", {grad::call("greater", {x, grad::number(0, x)}), dy, grad::zeros_like(dy)});
     }},
    {"nn.softplus", [](auto& x, auto&, auto& dy) { return grad::times(dy, grad::call("sigmoid", {x})); }},
    {"round", nullptr},
    {"rsqrt", [](auto& x, auto& y, auto& dy) { return scaled(grad::times(dy, grad::times(y, square(y))), x, -0.5); }},
    {"sigmoid", [](auto& x, auto& y, auto& dy) { return grad::times(dy, grad::times(y, grad::minus(one(x), y))); }},
    {"sign", nullptr},
    {"sin", [](auto& x, auto&, auto& dy) { return grad::times(dy, grad::call("cos", {x})); }},
    {"sinh", [](auto& x, auto&, auto& dy) { return grad::times(dy, grad::call("cosh", {x})); }},
    {"sqrt", [](auto& x, auto& y, auto& dy) { return grad::over(scaled(dy, x, 0.5), y); }},
    {"tan", [](auto& x, auto& y, auto& dy) { return grad::times(dy, grad::plus(square(y), one(x))); }},
    {"tanh", slope_of_tanh},
    {"trunc", nullptr},
};

const struct {
  const char* name;
  Accuracy bound;
} bounds[] = {
    {"abs", {0, 0}},
    {"acos", {2, 3}},
    {"acosh", {3, 3}},
    {"asin", {2.5, 3}},
    {"asinh", {3.5, 3.5}},
    {"atan", {1.1, 1}},
    {"atanh", {3, 3}},
    {"ceil", {0, 0}},
    {"copy", {0, 0}},
    {"cos", {0.6, 2}},
    {"cosh", {3, 3}},
    {"erf", {2, 1.4}},
    {"erfc", {4, 6}},
    {"exp", {1.1, 1}},
    {"expm1", {2, 2}},
    {"fast_erf", {2, 1.4}},
    {"fast_exp", {1.1, 1}},
    {"fast_tanh", {2.6, 2}},
    {"floor", {0, 0}},
    {"log", {1.1, 1}},
    {"log10", {3, 3}},
    {"log1p", {2, 2}},
    {"log2", {3, 3}},
    {"negative", {0, 0}},
    // The error of data / sqrt(2), times the slope of erfc, which grows with the square of data.
    {"nn.gelu", {110, 1600}},
    {"nn.relu", {0, 0}},
    {"nn.softplus", {3, 3}},
    {"round", {0, 0}},
    {"rsqrt", {1.5, 1.5}},
    {"sigmoid", {3, 3}},
    {"sign", {0, 0}},
    {"sin", {0.6, 2}},
    {"sinh", {4, 4}},
    {"sqrt", {0.5, 0.5}},
    {"tan", {0.6, 4}},
    {"tanh", {2.6, 2}},
    {"trunc", {0, 0}},
};

template <UnaryOp op>
Expr plain(const Expr& x) {
  return unary(op, x);
}
Expr exp(const Expr& x) { return unary(UnaryOp::Exp, x); }
Expr half(const Expr& x) { return x * number(0.5, x->dtype); }
Expr logarithm(const Expr& x, double base_log) { return unary(UnaryOp::Log, x) * number(1 / base_log, x->dtype); }
Expr is_finite(const Expr& x) {
  return unary(UnaryOp::Not, logical_or(unary(UnaryOp::IsNan, x), unary(UnaryOp::IsInf, x)));
}

// The arc sine of float32: for |x| of at most 1/2 directly, otherwise a quarter turn minus twice that of t = sqrt((1 -
// |x|) / 2): t + t * z * rest(z), z = t * t. It takes one square root, whereas other methods also take two divisions.
// (dev/math_coefficients.py computes the coefficients.)
struct SmallArc {
  Expr near, value;  // true if |x| is at most 1/2; the arc sine of x, or of t
};
SmallArc small_arc(const Expr& x) {
  constexpr double rest[] = {0.1666667241, 0.07498855073, 0.04500138007, 0.02655454221, 0.03808502356};  // error 7.2e-8
  const DType type = x->dtype;
  const Expr a = unary(UnaryOp::Abs, x), near = scalar::le(a, number(0.5, type));
  const Expr z = select(near, x * x, half(number(1, type) - a));
  const Expr t = select(near, x, unary(UnaryOp::Sqrt, z));
  Expr sum = number(rest[std::size(rest) - 1], type);
  for (size_t i = std::size(rest) - 1; i-- > 0;) sum = sum * z + number(rest[i], type);
  return {near, t + t * z * sum};
}
bool is_single(const Expr& x) { return x->dtype.element() == DType::float32(); }
// a - b, where a is a multiple of a quarter turn in float32, with its rounding error corrected.
Expr turns_less(double turns, const Expr& b) {
  const float high = static_cast<float>(turns);
  return number(high, b->dtype) - (b - number(turns - high, b->dtype));
}
Expr asin(const Expr& x) {
  const Expr one = number(1, x->dtype);
  if (!is_single(x)) return unary(UnaryOp::Atan, divide(x, unary(UnaryOp::Sqrt, (one - x) * (one + x))));
  const SmallArc arc = small_arc(x);
  const Expr far = turns_less(std::numbers::pi / 2, arc.value + arc.value);
  return select(arc.near, arc.value, select(lt(x, number(0, x->dtype)), unary(UnaryOp::Neg, far), far));
}
Expr acos(const Expr& x) {
  const Expr one = number(1, x->dtype);
  if (!is_single(x)) return unary(UnaryOp::Atan, unary(UnaryOp::Sqrt, divide(one - x, one + x))) * number(2, x->dtype);
  const SmallArc arc = small_arc(x);
  const Expr twice = arc.value + arc.value;
  const Expr far = select(lt(x, number(0, x->dtype)), turns_less(std::numbers::pi, twice), twice);
  return select(arc.near, turns_less(std::numbers::pi / 2, arc.value), far);
}
Expr with_sign_of(const Expr& value, const Expr& x) { return unary(UnaryOp::Sign, x) * value; }
Expr log1p(const Expr& x) { return unary(UnaryOp::Log1p, x); }
// log(1 + x) where x is a or, for a large a, 2 * a, whose square is too large for the type.
Expr log1p_or_twice(const Expr& a, const Expr& is_large, const Expr& x) {
  const Expr log2 = select(is_large, number(std::numbers::ln2, a->dtype), number(0, a->dtype));
  return log1p(select(is_large, a, x)) + log2;
}
// From here on 1 is nothing beside x.
Expr is_large(const Expr& x) { return lt(number(x->dtype.bits == 64 ? 0x1p54 : 0x1p25, x->dtype), x); }

Expr atanh(const Expr& x) {
  const Expr a = unary(UnaryOp::Abs, x);
  return with_sign_of(half(log1p(divide(a + a, number(1, x->dtype) - a))), x);
}
Expr acosh(const Expr& x) {
  const Expr one = number(1, x->dtype), t = x - one;
  const Expr value = log1p_or_twice(x, is_large(x), t + unary(UnaryOp::Sqrt, t * (t + number(2, x->dtype))));
  return select(lt(x, one), number(std::numeric_limits<double>::quiet_NaN(), x->dtype), value);
}
Expr asinh(const Expr& x) {
  const Expr one = number(1, x->dtype), a = unary(UnaryOp::Abs, x), square = a * a;
  const Expr near = a + divide(square, one + unary(UnaryOp::Sqrt, one + square));
  return with_sign_of(log1p_or_twice(a, is_large(a), near), x);
}

// exp(a) / 2 for a >= 0, as a product of two roots where exp(a) is too large for the type.
struct Halved {
  Expr is_large, value;
};
Halved half_exp(const Expr& a) {
  const Expr is_large = lt(number(a->dtype.bits == 64 ? 709 : 88, a->dtype), a);
  const Expr e = exp(select(is_large, half(a), a));
  return {is_large, select(is_large, half(e) * e, half(e))};
}
Expr cosh(const Expr& x) {
  const Halved e = half_exp(unary(UnaryOp::Abs, x));
  return e.value + divide(number(0.25, x->dtype), e.value);
}
// (t + t / (t + 1)) / 2 with t = exp(a) - 1, which keeps all digits near 0.
Expr sinh(const Expr& x) {
  const Expr a = unary(UnaryOp::Abs, x), t = unary(UnaryOp::Expm1, a);
  const Halved e = half_exp(a);
  const Expr value = half(t + divide(t, t + number(1, x->dtype)));
  return with_sign_of(select(lt(number(20, x->dtype), a), e.value, value), x);
}
// x times half of erfc(-x / sqrt(2)), in which no digits cancel.
Expr gelu(const Expr& x) { return half(x) * unary(UnaryOp::Erfc, x * number(-std::numbers::sqrt2 / 2, x->dtype)); }
// max(x, 0) + log(1 + exp(-|x|))
Expr softplus(const Expr& x) {
  return max(x, number(0, x->dtype)) + log1p(exp(unary(UnaryOp::Neg, unary(UnaryOp::Abs, x))));
}

const Row rows[] = {
    {"abs", "Absolute value.", Takes::Numbers, plain<UnaryOp::Abs>, "torch.abs(data)"},
    {"acos", "Arc cosine.", Takes::Floats, acos, "torch.acos(data)", -1, 1},
    {"acosh", "Inverse hyperbolic cosine.", Takes::Floats, acosh, "torch.acosh(data)", 1, 9},
    {"asin", "Arc sine.", Takes::Floats, asin, "torch.asin(data)", -1, 1},
    {"asinh", "Inverse hyperbolic sine.", Takes::Floats, asinh, "torch.asinh(data)", -9, 9},
    {"atan", "Arc tangent.", Takes::Floats, plain<UnaryOp::Atan>, "torch.atan(data)", -4, 4},
    {"atanh", "Inverse hyperbolic tangent.", Takes::Floats, atanh, "torch.atanh(data)", -0.99, 0.99},
    {"bitwise_not", "Inverts every bit.", Takes::Integers, plain<UnaryOp::BitNot>, "torch.bitwise_not(data)", -50, 50},
    {"ceil", "Rounds up to an integer.", Takes::FloatsElseSame, plain<UnaryOp::Ceil>, "torch.ceil(data)"},
    {"copy", "The same values.", Takes::Numbers, [](const Expr& x) { return x; }, "data"},
    {"cos", "Cosine.", Takes::Floats, plain<UnaryOp::Cos>, "torch.cos(data)", -10, 10},
    {"cosh", "Hyperbolic cosine.", Takes::Floats, cosh, "torch.cosh(data)"},
    {"erf", "The error function.", Takes::Floats, plain<UnaryOp::Erf>, "torch.erf(data)", -3, 3},
    {"erfc", "1 - erf(data), accurate also where it is small.", Takes::Floats, plain<UnaryOp::Erfc>, "torch.erfc(data)",
     -3, 3},
    {"exp", "e to the power of data.", Takes::Floats, plain<UnaryOp::Exp>, "torch.exp(data)", -5, 5},
    {"expm1", "exp(data) - 1, accurate also near 0.", Takes::Floats, plain<UnaryOp::Expm1>, "torch.expm1(data)", -5, 5},
    {"fast_erf", "The error function, as accurate as erf.", Takes::Floats, plain<UnaryOp::Erf>, "torch.erf(data)", -3,
     3},
    {"fast_exp", "e to the power of data, as accurate as exp.", Takes::Floats, plain<UnaryOp::Exp>, "torch.exp(data)",
     -5, 5},
    {"fast_tanh", "Hyperbolic tangent, as accurate as tanh.", Takes::Floats, plain<UnaryOp::Tanh>, "torch.tanh(data)",
     -4, 4},
    {"floor", "Rounds down to an integer.", Takes::FloatsElseSame, plain<UnaryOp::Floor>, "torch.floor(data)"},
    {"isfinite", "True for elements that are neither infinite nor NaN.", Takes::Floats, is_finite,
     "torch.isfinite(data)", -1, 1, true},
    {"isinf", "Infinite.", Takes::Floats, plain<UnaryOp::IsInf>, "torch.isinf(data)", -1, 1, true},
    {"isnan", "True for elements that are NaN.", Takes::Floats, plain<UnaryOp::IsNan>, "torch.isnan(data)", -1, 1,
     true},
    {"log", "Natural logarithm.", Takes::Floats, plain<UnaryOp::Log>, "torch.log(data)", 0.01, 10},
    {"log10", "Logarithm to base 10.", Takes::Floats, [](const Expr& x) { return logarithm(x, std::numbers::ln10); },
     "torch.log10(data)", 0.01, 10},
    {"log1p", "log(1 + data), accurate also near 0.", Takes::Floats, log1p, "torch.log1p(data)", -0.9, 10},
    {"log2", "Logarithm to base 2.", Takes::Floats, [](const Expr& x) { return logarithm(x, std::numbers::ln2); },
     "torch.log2(data)", 0.01, 10},
    {"logical_not", "Not.", Takes::Bools, plain<UnaryOp::Not>, "torch.logical_not(data)", 0, 1},
    {"negative", "The negated value.", Takes::Numbers, plain<UnaryOp::Neg>, "-data"},
    {"nn.gelu", "data / 2 * erfc(-data / sqrt(2)).", Takes::Floats, gelu, "F.gelu(data)", -4, 4},
    {"nn.relu", "max(data, 0).", Takes::Numbers, [](const Expr& x) { return max(x, imm(0, x->dtype)); },
     "torch.relu(data)"},
    {"nn.softplus", "log(1 + exp(data)).", Takes::Floats, softplus, "F.softplus(data)", -4, 4},
    {"round", "Rounds to the nearest integer; halves are rounded to the even integer.", Takes::FloatsElseSame,
     plain<UnaryOp::Round>, "torch.round(data)", -4, 4},
    {"rsqrt", "1 / sqrt(data).", Takes::Floats, plain<UnaryOp::Rsqrt>, "torch.rsqrt(data)", 0.1, 10},
    {"sigmoid", "1 / (1 + exp(-data)).", Takes::Floats, sigmoid, "torch.sigmoid(data)", -6, 6},
    {"sign", "-1, 0 or 1.", Takes::Numbers, plain<UnaryOp::Sign>, "torch.sign(data)"},
    {"sin", "Sine.", Takes::Floats, plain<UnaryOp::Sin>, "torch.sin(data)", -10, 10},
    {"sinh", "Hyperbolic sine.", Takes::Floats, sinh, "torch.sinh(data)"},
    {"sqrt", "Square root.", Takes::Floats, plain<UnaryOp::Sqrt>, "torch.sqrt(data)", 0, 10},
    {"tan", "Tangent.", Takes::Floats, plain<UnaryOp::Tan>, "torch.tan(data)", -1.5, 1.5},
    {"tanh", "Hyperbolic tangent.", Takes::Floats, plain<UnaryOp::Tanh>, "torch.tanh(data)", -4, 4},
    {"trunc", "Rounds towards zero to an integer.", Takes::FloatsElseSame, plain<UnaryOp::Trunc>, "torch.trunc(data)"},
};

// (C1) The function accepts the element type.
Result<Type> infer(const Row& row, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  DType t = data->dtype;
  bool taken = row.takes == Takes::Floats     ? t.is_float() || (t.is_int() && !row.test)
               : row.takes == Takes::Bools    ? t.is_bool()
               : row.takes == Takes::Integers ? t.is_int() || t.is_bool()
                                              : true;
  if (!taken) {
    const char* wanted = row.takes == Takes::Floats  ? row.test ? "a float" : "a number"
                         : row.takes == Takes::Bools ? "bool"
                                                     : "an integer";
    Diagnostic d = constraint("C1", "{} needs {} type, but data is {}", row.name, wanted, t.str());
    d.help = "convert it with cast";
    return d;
  }
  return ir::tensor_type(data->shape, row.test ? DType::boolean() : t);
}

OpDef operator_of(const Row& row) {
  bool same_for_integers = row.takes == Takes::FloatsElseSame;
  OpDef def = define<NoAttrs>(
      {.name = row.name,
       .doc = row.doc,
       .inputs = {{"data", "any shape"}},
       .fusion = Fusion::Elementwise,
       .infer = [&row](const NoAttrs&, const Types& in) { return infer(row, in); },
       .compute = [&row, same_for_integers](const NoAttrs&, const te::Tensors& in, const Type&) -> te::Tensors {
         return {elementwise(row.name, in[0], [&](const Exprs& i) {
           Expr x = (*in[0])(i);
           if (same_for_integers && !x->dtype.is_float()) return x;
           if (row.takes == Takes::Floats && x->dtype.is_int())
             return cast(x->dtype, row.value(cast(x->dtype.bits < 32 ? DType::float32() : DType::float64(), x)));
           if (row.test || !x->dtype.is_float()) return row.value(x);
           return cast(x->dtype, row.value(cast(accumulator(x->dtype), x)));
         })};
       },
       .accepts_storage_types = std::string_view(row.name) == "copy",
       .oracle = row.oracle,
       .examples = {}});
  for (const auto& [name, slope] : slopes)
    if (std::string(row.name) == name)
      def.gradient = [f = slope](const Attrs&, const Adjoint& of) -> ir::Exprs {
        return {f ? f(of.inputs[0], of.output, of.gradient) : Value()};
      };
  for (const auto& [name, bound] : bounds)
    if (std::string(row.name) == name) def.accuracy = bound;
  std::string type = row.takes == Takes::Bools ? " bool" : row.takes == Takes::Integers ? " int32" : "";
  for (const char* name : {"erfc", "expm1", "log1p", "nn.gelu", "nn.softplus"})
    def.is_extension |= std::string(row.name) == name;
  def.examples = {{.inputs = {"(3, 5, 7)" + type}, .symbolic = {"(n, 5, m)" + type}, .low = row.low, .high = row.high},
                  {.inputs = {"()" + type}, .low = row.low, .high = row.high}};
  if (row.takes == Takes::Numbers || same_for_integers)
    def.examples.push_back({.inputs = {"(4, 6) int32"}, .low = -9, .high = 9, .ulps = 0});
  for (const char* measured : {"nn.relu", "erf", "exp", "log", "sigmoid", "tanh"})
    if (std::string(row.name) == measured)
      def.examples.push_back({.inputs = {"(128, 3072)"}, .low = row.low, .high = row.high, .bench = true});
  if (row.takes == Takes::Floats) def.rejects = {{{row.test ? "(2,) int32" : "(2,) bool"}, "", "C1"}};
  if (row.takes == Takes::Bools) def.rejects = {{{"(2,) int32"}, "", "C1"}};
  if (row.takes == Takes::Integers) def.rejects = {{{"(2,)"}, "", "C1"}};
  return def;
}

}  // namespace
}  // namespace unary_cpp

std::vector<OpDef> math_unary() {
  using namespace unary_cpp;
  std::vector<OpDef> defs;
  for (const Row& row : rows) defs.push_back(operator_of(row));
  return defs;
}

}  // namespace relay::ops
