// Operators of two or more tensors, element by element: arithmetic, comparison, logic, selection. On sizes (known
// elements) they are computed at import.
#include "relay/frontend/onnx/convert.h"

namespace relay::onnx::convert {

using ir::Expr;
using scalar::BinaryOp;

namespace {

// Before opset 7 the second operand was stretched only on request, from a given axis on: reshaped so that it stretches
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

// The same, computed now when both operands are known.
Values binary(Convert& c, const char* op, BinaryOp folded, bool swap = false) {
  KnownRef a = c.known(0), b = c.known(1);
  if (a && b)
    if (KnownRef result = swap ? frontend::binary(folded, *b, *a) : frontend::binary(folded, *a, *b)) return {result};
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
  if (known) return {known};
  ir::Exprs all = c.all_inputs();
  Expr result = all[0];
  for (size_t i = 1; i < all.size(); ++i) result = c.emit(op, {result, all[i]});
  return {result};
}

}  // namespace

Values Add(Convert& c) { return binary(c, "add", BinaryOp::Add); }
Values Sub(Convert& c) { return binary(c, "subtract", BinaryOp::Sub); }
Values Mul(Convert& c) { return binary(c, "multiply", BinaryOp::Mul); }
Values Div(Convert& c) { return binary(c, "divide", BinaryOp::Div); }  // of integers: towards zero, in both
Values Max(Convert& c) { return chain(c, "maximum", BinaryOp::Max); }
Values Min(Convert& c) { return chain(c, "minimum", BinaryOp::Min); }
Values Sum(Convert& c) { return chain(c, "add", BinaryOp::Add); }

Values Mean(Convert& c) {
  Values sum = Sum(c);
  if (c.inputs() == 1 || !sum[0].expr) return sum;
  return {c.multiply(sum[0].expr, 1.0 / static_cast<double>(c.inputs()))};
}

// The remainder of floats with the divisor's sign, a zero's too; an infinite divisor leaves what lies on its side.
static Expr float_mod(Convert& c) {
  Expr a = c.input(0), b = second_operand(c, a);
  Expr zero = c.scalar(0, c.dtype(a));
  Expr rest = c.emit("trunc_mod", {a, b}), below = c.emit("less", {b, zero});
  Expr other_side = c.emit("not_equal", {c.emit("less", {rest, zero}), below});
  Expr signed_zero = c.emit("where", {below, c.scalar(-0.0, c.dtype(a)), zero});
  Expr moved = c.emit("where", {other_side, c.add(rest, b), rest});
  return c.emit("where", {c.emit("equal", {rest, zero}), signed_zero, moved});
}

// The remainder takes the divisor's sign; with fmod=1 the dividend's.
Values Mod(Convert& c) {
  if (c.integer("fmod", 0)) return binary(c, "trunc_mod", BinaryOp::TruncMod);
  if (c.dtype(c.input(0)).is_float()) return {float_mod(c)};
  return binary(c, "floor_mod", BinaryOp::FloorMod);
}

// Base and exponent may differ in type; the result has the base's.
Values Pow(Convert& c) {
  KnownRef x = c.known(0), y = c.known(1);
  if (x && y && x->dtype == y->dtype)
    if (KnownRef result = frontend::binary(BinaryOp::Pow, *x, *y)) return {result};
  Expr base = c.input(0), exponent = second_operand(c, base);
  // An integer to a power that is not one is computed in floats.
  if (!c.dtype(base).is_float() && c.dtype(exponent).is_float()) {
    Expr power = c.emit("power", {c.cast(base, c.dtype(exponent)), exponent});
    return {c.cast(power, c.dtype(base))};
  }
  return {c.emit("power", {base, c.cast(exponent, c.dtype(base))})};
}

Values Equal(Convert& c) { return binary(c, "equal", BinaryOp::Eq); }
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

// X moved by Y bits, to the left or to the right.
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
Values SwiGLU(Convert& c) {
  Expr a = c.input(0);
  return {c.multiply(c.multiply(a, c.emit("sigmoid", {c.multiply(a, c.real("alpha", 1))})), c.input(1))};
}

}  // namespace relay::onnx::convert
