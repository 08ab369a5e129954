// evaluate: the value of an integer expression with every variable bound, overflow checked.
#include <algorithm>

#include "relay/scalar/linear.h"

namespace relay::scalar {

namespace {

using Values = std::vector<std::pair<Expr, int64_t>>;
using Memo = std::unordered_map<const Node*, std::optional<int64_t>>;

std::optional<int64_t> apply(BinaryOp op, int64_t a, int64_t b) {
  int64_t r = 0;
  switch (op) {
    case BinaryOp::Add: return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case BinaryOp::Sub: return __builtin_sub_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case BinaryOp::Mul: return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case BinaryOp::FloorDiv:
    case BinaryOp::FloorMod:
    case BinaryOp::TruncDiv:
    case BinaryOp::TruncMod:
      if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
      return op == BinaryOp::FloorDiv   ? floor_div(a, b)
             : op == BinaryOp::FloorMod ? floor_mod(a, b)
             : op == BinaryOp::TruncDiv ? a / b
                                        : a % b;
    case BinaryOp::Min: return std::min(a, b);
    case BinaryOp::Max: return std::max(a, b);
    case BinaryOp::And: return a && b;
    case BinaryOp::Or: return a || b;
    case BinaryOp::Eq: return a == b;
    case BinaryOp::Ne: return a != b;
    case BinaryOp::Lt: return a < b;
    case BinaryOp::Le: return a <= b;
    case BinaryOp::BitAnd: return a & b;
    case BinaryOp::BitOr: return a | b;
    case BinaryOp::BitXor: return a ^ b;
    case BinaryOp::Shl:
      return b < 0 || b > 62 || __builtin_mul_overflow(a, int64_t{1} << b, &r) ? std::nullopt : std::optional(r);
    case BinaryOp::Shr: return b < 0 || b > 63 ? std::nullopt : std::optional(a >> b);
    case BinaryOp::Div:
    case BinaryOp::Pow: break;
  }
  return std::nullopt;
}

std::optional<int64_t> value(const Expr& e, const Values& values, Memo& memo);

std::optional<int64_t> compute(const Expr& e, const Values& values, Memo& memo) {
  switch (e->kind) {
    case Kind::Unary: {
      std::optional<int64_t> a = value(e->args[0], values, memo);
      if (!a) return a;
      if (e->unary == UnaryOp::Not) return !*a;
      if (e->unary == UnaryOp::BitNot) return ~*a;
      if (e->unary == UnaryOp::Sign) return (*a > 0) - (*a < 0);
      if (*a == INT64_MIN) return std::nullopt;
      if (e->unary == UnaryOp::Neg) return -*a;
      if (e->unary == UnaryOp::Abs) return *a < 0 ? -*a : *a;
      return std::nullopt;
    }
    case Kind::Binary: {
      if (e->args[0]->dtype != DType::int64() && !e->args[0]->dtype.is_bool()) return std::nullopt;
      std::optional<int64_t> a = value(e->args[0], values, memo), b = value(e->args[1], values, memo);
      return a && b ? apply(e->binary, *a, *b) : std::nullopt;
    }
    case Kind::Select: {
      std::optional<int64_t> c = value(e->args[0], values, memo);
      return c ? value(e->args[*c ? 1 : 2], values, memo) : std::nullopt;
    }
    case Kind::Cast:
      if (e->args[0]->dtype.is_float() || (e->dtype != DType::int64() && !e->dtype.is_bool())) return std::nullopt;
      if (e->dtype.is_bool())
        if (std::optional<int64_t> a = value(e->args[0], values, memo)) return *a != 0;
      return value(e->args[0], values, memo);
    default: return std::nullopt;
  }
}

std::optional<int64_t> value(const Expr& e, const Values& values, Memo& memo) {
  if (e->kind == Kind::Int) return e->ivalue;
  if (e->kind == Kind::Var) {
    for (const auto& [var, v] : values)
      if (var == e) return v;
    return std::nullopt;
  }
  if (e->use_count() < 2) return compute(e, values, memo);
  auto it = memo.find(e.get());
  if (it != memo.end()) return it->second;
  std::optional<int64_t> r = compute(e, values, memo);
  memo.emplace(e.get(), r);
  return r;
}

}  // namespace

std::optional<int64_t> evaluate(const Expr& e, const Values& values) {
  Memo memo;
  return value(e, values, memo);
}

}  // namespace relay::scalar
