// Operators of two or more tensors, element by element: arithmetic, comparison, logic, selection. Those on sizes (known
// elements) are computed at import.
#include <limits>

#include "relay/frontend/common/ops/curves.h"
#include "relay/frontend/onnx/convert.h"

namespace relay::onnx::convert {

using ir::Expr;
using scalar::BinaryOp;

namespace {

// Before opset 7 the second operand was broadcast only on request, from a given axis on: reshaped so that it broadcasts
// by itself.
Expr second_operand(Convert& c, const Expr& a) {
  Expr b = c.input(1);
  if (c.opset >= 7 || !b || !c.integer("broadcast", 0) || !c.has_attribute("axis")) return b;
  std::optional<int64_t> axis = c.axis(c.integer("axis", 0), c.rank(a));
  if (!axis) return nullptr;
  ir::Dims shape = c.shape(b);
  for (int64_t i = *axis + c.rank(b); i < c.rank(a); ++i) shape.push_back(scalar::imm(1));
  return c.reshape(b, shape);
}

Values binary(Convert& c, const char* op) {
  Expr a = c.input(0);
  return {c.emit(op, {a, second_operand(c, a)})};
}

// The same, computed now if both operands are known.
Values binary(Convert& c, const char* op, BinaryOp folded, bool swap = false) {
  KnownRef a = c.known(0), b = c.known(1);
  if (a && b)
    if (KnownRef result = swap ? frontend::binary(folded, *b, *a) : frontend::binary(folded, *a, *b))
      return {c.known_result(result, [&] { return binary(c, op)[0].expr; })};
  return binary(c, op);
}

// a op b op c ...
Values chain(Convert& c, const char* op, BinaryOp folded) {
  if (c.inputs() == 1) return {c.value(0)};
  KnownRef known = c.known(0);
  for (size_t i = 1; known && i < c.inputs(); ++i) {
    KnownRef next = c.known(i);
    known = next ? frontend::binary(folded, *known, *next) : nullptr;
  }
  auto computed = [&] {
    ir::Exprs all = c.all_inputs();
    Expr result = all[0];
    for (size_t i = 1; i < all.size(); ++i) result = c.emit(op, {result, all[i]});
    return result;
  };
  if (known) return {c.known_result(known, computed)};
  return {computed()};
}

}  // namespace

Values Add(Convert& c) { return binary(c, "add", BinaryOp::Add); }
Values Sub(Convert& c) { return binary(c, "subtract", BinaryOp::Sub); }
Values Mul(Convert& c) { return binary(c, "multiply", BinaryOp::Mul); }
Values Div(Convert& c) { return binary(c, "divide", BinaryOp::Div); }  // for integers: towards zero, in both
Values Max(Convert& c) { return chain(c, "maximum", BinaryOp::Max); }
Values Min(Convert& c) { return chain(c, "minimum", BinaryOp::Min); }
Values Sum(Convert& c) { return chain(c, "add", BinaryOp::Add); }

Values Mean(Convert& c) {
  if (c.inputs() == 1) return {c.value(0)};
  const DType dtype = c.dtype(c.input(0)), exact = exact_type(c, c.input(0));
  Expr total;
  for (const Expr& e : c.all_inputs()) total = total ? c.add(total, c.cast(e, exact)) : c.cast(e, exact);
  return {c.cast(c.divide(total, c.scalar(static_cast<double>(c.inputs()), exact)), dtype)};
}

// The remainder of floats with the dividend's sign; for an infinite divisor it is the dividend.
static Expr float_rest(Convert& c, const Expr& a, const Expr& b) {
  Expr infinite = c.scalar(std::numeric_limits<double>::infinity(), c.dtype(a));
  Expr divisor = c.emit("equal", {c.emit("abs", {b}), infinite});
  Expr dividend = c.emit("equal", {c.emit("abs", {a}), infinite});
  Expr is_left = c.emit("logical_and", {divisor, c.emit("logical_not", {dividend})});
  return c.emit("where", {is_left, a, c.emit("trunc_mod", {a, b})});
}

// The same with the divisor's sign, which a zero remainder has too.
static Expr float_mod(Convert& c, const Expr& a, const Expr& b) {
  Expr zero = c.scalar(0, c.dtype(a));
  Expr rest = float_rest(c, a, b), below = c.emit("less", {b, zero});
  Expr other_side = c.emit("not_equal", {c.emit("less", {rest, zero}), below});
  Expr signed_zero = c.emit("where", {below, c.scalar(-0.0, c.dtype(a)), zero});
  Expr moved = c.emit("where", {other_side, c.add(rest, b), rest});
  return c.emit("where", {c.emit("equal", {rest, zero}), signed_zero, moved});
}

// The remainder takes the divisor's sign; with fmod=1 the dividend's.
Values Mod(Convert& c) {
  const bool dividends = c.integer("fmod", 0) != 0;
  Expr a = c.input(0);
  if (c.dtype(a).is_float()) {
    Expr b = second_operand(c, a);
    return {dividends ? float_rest(c, a, b) : float_mod(c, a, b)};
  }
  return dividends ? binary(c, "trunc_mod", BinaryOp::TruncMod) : binary(c, "floor_mod", BinaryOp::FloorMod);
}

// A type that holds base and exponent; an integer to a floating-point power is computed in float64.
static DType type_of_power(DType base, DType exponent) {
  if (base.is_float() && !exponent.is_float()) return base;
  if (!base.is_float() && exponent.is_float()) return DType::float64();
  if (base.is_float()) return exponent.bits > base.bits ? exponent : base;
  return base == exponent || base == DType::uint64() ? base : DType::int64();
}

static Expr power(Convert& c) {
  Expr base = c.input(0), exponent = second_operand(c, base);
  const DType dtype = c.dtype(base), wide = type_of_power(dtype, c.dtype(exponent));
  return c.cast(c.emit("power", {c.cast(base, wide), c.cast(exponent, wide)}), dtype);
}

// Base and exponent may differ in type; the result has the base's.
Values Pow(Convert& c) {
  KnownRef x = c.known(0), y = c.known(1);
  if (x && y && x->dtype == y->dtype)
    if (KnownRef result = frontend::binary(BinaryOp::Pow, *x, *y))
      return {c.known_result(result, [&] { return power(c); })};
  return {power(c)};
}

Values Equal(Convert& c) {
  if (c.value(0).carried != c.value(1).carried) return c.bad("it compares strings with numbers");
  return binary(c, "equal", BinaryOp::Eq);
}
Values Less(Convert& c) { return binary(c, "less", BinaryOp::Lt); }
Values LessOrEqual(Convert& c) { return binary(c, "less_equal", BinaryOp::Le); }
Values Greater(Convert& c) { return binary(c, "greater", BinaryOp::Lt, true); }
Values GreaterOrEqual(Convert& c) { return binary(c, "greater_equal", BinaryOp::Le, true); }

Values And(Convert& c) { return binary(c, "logical_and"); }
Values Or(Convert& c) { return binary(c, "logical_or"); }
Values Xor(Convert& c) { return binary(c, "logical_xor"); }
Values BitwiseAnd(Convert& c) { return binary(c, "bitwise_and"); }
Values BitwiseOr(Convert& c) { return binary(c, "bitwise_or"); }
Values BitwiseXor(Convert& c) { return binary(c, "bitwise_xor"); }

// X shifted by Y bits, to the left or to the right.
Values BitShift(Convert& c) {
  std::string direction = c.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") return c.bad("direction is '{}', not LEFT or RIGHT", direction);
  return {c.emit(direction == "LEFT" ? "left_shift" : "right_shift", {c.input(0), c.input(1)})};
}

Values Where(Convert& c) {
  KnownRef condition = c.known(0), a = c.known(1), b = c.known(2);
  if (condition && a && b)
    if (KnownRef result = where(*condition, *a, *b)) return {result};
  return {c.emit("where", {c.input(0), c.input(1), c.input(2)})};
}

// swish(A) * B
Values SwiGLU(Convert& c) { return {c.multiply(silu(c, c.input(0), c.real("alpha", 1)), c.input(1))}; }

}  // namespace relay::onnx::convert
