#include "relay/scalar/eval.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "relay/base/diagnostics.h"

namespace relay::scalar {

namespace {

// Rounds to `precision` bits of significand with the least exponent `min_exponent` (of the value 2^e * 1.xxx) and the
// greatest finite value `max`.
double round_bits(double v, int precision, int min_exponent, double max) {
  if (v == 0 || !std::isfinite(v)) return v;
  int exponent = std::max(std::ilogb(v), min_exponent);
  double unit = std::ldexp(1.0, exponent - precision + 1);
  double r = std::nearbyint(v / unit) * unit;
  return std::abs(r) > max ? std::copysign(std::numeric_limits<double>::infinity(), v) : r;
}

int64_t wrap(DType t, int64_t v) {
  if (t.is_bool()) return v != 0;
  if (t.bits == 64) return v;
  uint64_t mask = (uint64_t{1} << t.bits) - 1, u = static_cast<uint64_t>(v) & mask;
  if (t.code == DType::Code::Int && (u >> (t.bits - 1))) u |= ~mask;
  return static_cast<int64_t>(u);
}

bool is_unsigned64(DType t) { return t.code == DType::Code::UInt && t.bits == 64; }

Value boolean(bool v) { return {DType::boolean(), v, 0}; }

double float_unary(UnaryOp op, double x) {
  switch (op) {
    case UnaryOp::Neg: return -x;
    case UnaryOp::Abs: return std::abs(x);
    case UnaryOp::Sign: return std::isnan(x) ? x : x > 0 ? 1 : x < 0 ? -1 : x;
    case UnaryOp::Exp: return std::exp(x);
    case UnaryOp::Expm1: return std::expm1(x);
    case UnaryOp::Log: return std::log(x);
    case UnaryOp::Log1p: return std::log1p(x);
    case UnaryOp::Sqrt: return std::sqrt(x);
    case UnaryOp::Rsqrt: return 1 / std::sqrt(x);
    case UnaryOp::Tanh: return std::tanh(x);
    case UnaryOp::Erf: return std::erf(x);
    case UnaryOp::Erfc: return std::erfc(x);
    case UnaryOp::Sin: return std::sin(x);
    case UnaryOp::Cos: return std::cos(x);
    case UnaryOp::Tan: return std::tan(x);
    case UnaryOp::Atan: return std::atan(x);
    case UnaryOp::Floor: return std::floor(x);
    case UnaryOp::Ceil: return std::ceil(x);
    case UnaryOp::Round: return std::nearbyint(x);
    case UnaryOp::Trunc: return std::trunc(x);
    case UnaryOp::Rounded: return x;
    case UnaryOp::Not:
    case UnaryOp::IsNan:
    case UnaryOp::IsInf:
    case UnaryOp::BitNot: break;
  }
  RELAY_CHECK(false, "{} of a float", name(op));
  return 0;
}

// The remainder, which is exact, with the sign of b.
template <class T>
T floor_mod(T a, T b) {
  const T r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// The greatest integer that is not above the exact quotient: (a - r) / b is an integer, r the remainder. Floats are
// divided in double, which holds quotients below 2^29 exactly.
double floor_div(double a, double b) {
  if (b == 0) return a / b;
  const double r = std::fmod(a, b);
  double q = std::nearbyint((a - r) / b);
  if (r != 0 && (r < 0) != (b < 0)) q -= 1;
  return q == 0 ? std::copysign(0.0, a / b) : q;
}

// Computes in the arithmetic of T: float or double.
template <class T>
double float_binary(BinaryOp op, double x, double y) {
  T a = static_cast<T>(x), b = static_cast<T>(y);
  switch (op) {
    case BinaryOp::Add: return a + b;
    case BinaryOp::Sub: return a - b;
    case BinaryOp::Mul: return a * b;
    case BinaryOp::Div: return a / b;
    case BinaryOp::FloorDiv: return floor_div(x, y);
    case BinaryOp::FloorMod: return floor_mod(a, b);
    case BinaryOp::TruncDiv: return std::trunc(static_cast<T>(a / b));
    case BinaryOp::TruncMod: return std::fmod(a, b);
    // If both operands are zeros, the result is the second; if one is a NaN, a NaN.
    case BinaryOp::Min: return std::isnan(a) ? a : a < b ? a : b;
    case BinaryOp::Max: return std::isnan(a) ? a : a > b ? a : b;
    case BinaryOp::Pow: return std::pow(x, y);
    default: break;
  }
  RELAY_CHECK(false, "{} of floats", name(op));
  return 0;
}

Value int_divide(BinaryOp op, const Value& a, const Value& b) {
  DType t = a.dtype;
  bool quotient = op == BinaryOp::FloorDiv || op == BinaryOp::TruncDiv;
  if (b.i == 0) return int_value(0, t);
  if (is_unsigned64(t)) {
    uint64_t x = static_cast<uint64_t>(a.i), y = static_cast<uint64_t>(b.i);
    return int_value(static_cast<int64_t>(quotient ? x / y : x % y), t);
  }
  if (b.i == -1) return quotient ? apply(UnaryOp::Neg, a) : int_value(0, t);
  int64_t q = a.i / b.i, r = a.i % b.i;
  bool adjust = (op == BinaryOp::FloorDiv || op == BinaryOp::FloorMod) && r != 0 && (r < 0) != (b.i < 0);
  return int_value(quotient ? q - adjust : adjust ? r + b.i : r, t);
}

// Wraps around; for a negative exponent the result is 0 unless the base is 1 or -1.
int64_t int_power(int64_t base, int64_t exponent, bool is_signed) {
  if (is_signed && exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, b = static_cast<uint64_t>(base);
  for (uint64_t e = static_cast<uint64_t>(exponent); e; e >>= 1, b *= b)
    if (e & 1) result *= b;
  return static_cast<int64_t>(result);
}

Value int_binary(BinaryOp op, const Value& a, const Value& b) {
  DType t = a.dtype;
  uint64_t x = static_cast<uint64_t>(a.i), y = static_cast<uint64_t>(b.i);
  bool less = is_unsigned64(t) ? x < y : a.i < b.i;
  bool in_range = b.i >= 0 && b.i < t.bits;
  switch (op) {
    case BinaryOp::Add: return t.is_bool() ? boolean(a.i || b.i) : int_value(static_cast<int64_t>(x + y), t);
    case BinaryOp::Sub: return int_value(static_cast<int64_t>(x - y), t);
    case BinaryOp::Mul: return int_value(static_cast<int64_t>(x * y), t);
    case BinaryOp::FloorDiv:
    case BinaryOp::FloorMod:
    case BinaryOp::TruncDiv:
    case BinaryOp::TruncMod: return int_divide(op, a, b);
    case BinaryOp::Min: return less ? a : b;
    case BinaryOp::Max: return less ? b : a;
    case BinaryOp::Pow: return int_value(int_power(a.i, b.i, !is_unsigned64(t)), t);
    case BinaryOp::And: return boolean(a.i && b.i);
    case BinaryOp::Or: return boolean(a.i || b.i);
    case BinaryOp::BitAnd: return int_value(a.i & b.i, t);
    case BinaryOp::BitOr: return int_value(a.i | b.i, t);
    case BinaryOp::BitXor: return int_value(a.i ^ b.i, t);
    case BinaryOp::Shl: return int_value(in_range ? static_cast<int64_t>(x << b.i) : 0, t);
    case BinaryOp::Shr:
      if (t.code == DType::Code::UInt) return int_value(in_range ? static_cast<int64_t>(x >> b.i) : 0, t);
      return int_value(in_range ? a.i >> b.i : a.i < 0 ? -1 : 0, t);
    case BinaryOp::Eq:
    case BinaryOp::Ne:
    case BinaryOp::Lt:
    case BinaryOp::Le:
    case BinaryOp::Div: break;
  }
  RELAY_CHECK(false, "{} of integers", name(op));
  return {};
}

uint64_t to_bits(const Value& a) {
  if (!a.dtype.is_float()) return static_cast<uint64_t>(a.i);
  if (a.dtype.bits == 64) return std::bit_cast<uint64_t>(a.f);
  if (a.dtype.bits == 32) return std::bit_cast<uint32_t>(static_cast<float>(a.f));
  if (a.dtype == DType::bfloat16()) return std::bit_cast<uint32_t>(static_cast<float>(a.f)) >> 16;
  return std::bit_cast<uint16_t>(static_cast<_Float16>(a.f));
}

class Evaluator {
 public:
  Evaluator(const Environment& environment, int lane) : env_(environment), lane_(lane) {}

  Value value(const Expr& e) {
    switch (e->kind) {
      case Kind::Int: return int_value(e->ivalue, e->dtype);
      case Kind::Float: return float_value(e->fvalue, e->dtype.element());
      case Kind::Var: return env_.var(e, e->dtype.lanes > 1 ? lane_ : 0);
      default: break;
    }
    if (e->use_count() < 2) return compute(e);
    auto it = memo_.find(e.get());
    if (it != memo_.end()) return it->second;
    Value v = compute(e);
    memo_.emplace(e.get(), v);
    return v;
  }

 private:
  // a * b + c, a * b - c, c - a * b
  bool fused(const Expr& e, Value* out) {
    if (!env_.contract || !e->dtype.is_float() || (e->binary != BinaryOp::Add && e->binary != BinaryOp::Sub))
      return false;
    auto product = [](const Expr& x) { return x->kind == Kind::Binary && x->binary == BinaryOp::Mul; };
    bool left = product(e->args[0]);
    if (!left && !product(e->args[1])) return false;
    const Expr& p = e->args[left ? 0 : 1];
    Value a = value(p->args[0]), b = value(p->args[1]), c = value(e->args[left ? 1 : 0]);
    if (e->binary == BinaryOp::Sub) (left ? c : a) = apply(UnaryOp::Neg, left ? c : a);
    *out = fused_multiply_add(a, b, c);
    return true;
  }

  Value compute(const Expr& e) {
    switch (e->kind) {
      case Kind::Unary: return apply(e->unary, value(e->args[0]));
      case Kind::Binary: {
        Value contracted;
        if (fused(e, &contracted)) return contracted;
        Value a = value(e->args[0]);
        return apply(e->binary, a, value(e->args[1]));
      }
      case Kind::Select: return value(e->args[value(e->args[0]).i ? 1 : 2]);
      case Kind::Cast: return convert(e->dtype.element(), value(e->args[0]));
      case Kind::Reinterpret: return reinterpret(e->dtype.element(), value(e->args[0]));
      case Kind::Ramp: {
        Value base = value(e->args[0]);
        return int_value(base.i + e->ivalue * lane_, base.dtype);
      }
      case Kind::Broadcast: return value(e->args[0]);
      case Kind::Dot: {
        const size_t n = e->args.size() / 2;
        const DType t = e->dtype.element();
        Value sum;
        for (size_t i = 0; i < n; ++i) {
          const Value product = apply(BinaryOp::Mul, convert(t, value(e->args[i])), convert(t, value(e->args[n + i])));
          sum = i == 0 ? product : apply(BinaryOp::Add, sum, product);
        }
        return sum;
      }
      case Kind::Load: {
        std::vector<int64_t> indices;
        for (const Expr& i : e->args) indices.push_back(value(i).i);
        return env_.load(*e->source, indices);
      }
      default: break;
    }
    RELAY_CHECK(false, "{} has no value", str(e));
    return {};
  }

  const Environment& env_;
  int lane_;
  std::unordered_map<const Node*, Value> memo_;
};

}  // namespace

double round_to(DType t, double v) {
  if (t.bits == 64) return v;
  if (t == DType::bfloat16()) return round_bits(v, 8, -126, 0x1.FEp127);
  if (t.bits == 16) return round_bits(v, 11, -14, 65504);
  return static_cast<float>(v);
}

Value int_value(int64_t v, DType dtype) { return {dtype.element(), wrap(dtype, v), 0}; }
Value float_value(double v, DType dtype) { return {dtype, 0, round_to(dtype, v)}; }

Value apply(UnaryOp op, const Value& a) {
  if (op == UnaryOp::IsNan) return boolean(a.dtype.is_float() && std::isnan(a.f));
  if (op == UnaryOp::IsInf) return boolean(a.dtype.is_float() && std::isinf(a.f));
  if (a.dtype.is_float()) return float_value(float_unary(op, a.f), a.dtype);
  switch (op) {
    case UnaryOp::Not: return boolean(!a.i);
    case UnaryOp::BitNot: return a.dtype.is_bool() ? boolean(!a.i) : int_value(~a.i, a.dtype);
    case UnaryOp::Neg: return int_value(static_cast<int64_t>(-static_cast<uint64_t>(a.i)), a.dtype);
    case UnaryOp::Abs: return a.i < 0 && !is_unsigned64(a.dtype) ? apply(UnaryOp::Neg, a) : a;
    case UnaryOp::Sign: return int_value(is_unsigned64(a.dtype) ? a.i != 0 : (a.i > 0) - (a.i < 0), a.dtype);
    case UnaryOp::Floor:
    case UnaryOp::Ceil:
    case UnaryOp::Round:
    case UnaryOp::Trunc:
    case UnaryOp::Rounded: return a;
    default: break;
  }
  RELAY_CHECK(false, "{} of {}", name(op), a.dtype.str());
  return {};
}

Value apply(BinaryOp op, const Value& a, const Value& b) {
  if (is_comparison(op)) {
    bool less, same;
    if (a.dtype.is_float())
      less = a.f < b.f, same = a.f == b.f;
    else
      less = is_unsigned64(a.dtype) ? static_cast<uint64_t>(a.i) < static_cast<uint64_t>(b.i) : a.i < b.i,
      same = a.i == b.i;
    return boolean(op == BinaryOp::Eq ? same : op == BinaryOp::Ne ? !same : op == BinaryOp::Lt ? less : less || same);
  }
  if (!a.dtype.is_float()) return int_binary(op, a, b);
  return float_value(a.dtype.bits == 64 ? float_binary<double>(op, a.f, b.f) : float_binary<float>(op, a.f, b.f),
                     a.dtype);
}

Value fused_multiply_add(const Value& a, const Value& b, const Value& c) {
  if (a.dtype.bits == 64) return float_value(std::fma(a.f, b.f, c.f), a.dtype);
  return float_value(std::fma(static_cast<float>(a.f), static_cast<float>(b.f), static_cast<float>(c.f)), a.dtype);
}

Value convert(DType t, const Value& a) {
  if (t.is_float()) {
    if (a.dtype.is_float()) return float_value(a.f, t);
    // 64-bit integers are converted to float32 with one rounding.
    if (t.bits == 32)
      return {t, 0, is_unsigned64(a.dtype) ? static_cast<float>(static_cast<uint64_t>(a.i)) : static_cast<float>(a.i)};
    return float_value(
        is_unsigned64(a.dtype) ? static_cast<double>(static_cast<uint64_t>(a.i)) : static_cast<double>(a.i), t);
  }
  if (!a.dtype.is_float()) return int_value(a.i, t);
  if (t.is_bool()) return boolean(a.f != 0);
  if (std::isnan(a.f)) return int_value(0, t);
  double v = std::trunc(a.f);
  bool is_signed = t.code == DType::Code::Int;
  double low = is_signed ? -std::ldexp(1.0, t.bits - 1) : 0, limit = std::ldexp(1.0, is_signed ? t.bits - 1 : t.bits);
  if (v < low) return int_value(is_signed ? static_cast<int64_t>(low) : 0, t);
  if (v >= limit) return int_value(t.bits == 64 ? (is_signed ? INT64_MAX : -1) : static_cast<int64_t>(limit) - 1, t);
  return int_value(is_unsigned64(t) ? static_cast<int64_t>(static_cast<uint64_t>(v)) : static_cast<int64_t>(v), t);
}

Value reinterpret(DType t, const Value& a) {
  uint64_t bits = to_bits(a);
  if (!t.is_float()) return int_value(static_cast<int64_t>(bits), t);
  if (t.bits == 64) return {t, 0, std::bit_cast<double>(bits)};
  if (t.bits == 32) return {t, 0, std::bit_cast<float>(static_cast<uint32_t>(bits))};
  if (t == DType::bfloat16()) return {t, 0, std::bit_cast<float>(static_cast<uint32_t>(bits) << 16)};
  return {t, 0, static_cast<double>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits)))};
}

Value eval(const Expr& e, const Environment& environment, int lane) { return Evaluator(environment, lane).value(e); }

Value eval(const Expr& e, const std::vector<std::pair<Expr, Value>>& values, bool contract) {
  auto lookup = [&](const Expr& v, int) -> Value {
    for (const auto& [var, bound] : values)
      if (var == v) return bound;
    RELAY_CHECK(false, "{} is not bound", v->name);
    return {};
  };
  auto no_load = [](const Source& s, std::span<const int64_t>) -> Value {
    RELAY_CHECK(false, "load of {} without values", s.name);
    return {};
  };
  return eval(e, Environment{lookup, no_load, contract});
}

}  // namespace relay::scalar
