// Operators on integers that stand for reals.
#include "relay/frontend/common/ops/quantise.h"
#include "relay/frontend/onnx/microsoft/shared.h"
#include "relay/frontend/onnx/window.h"

namespace relay::onnx::microsoft {

using ir::Expr;
using ir::Ints;

namespace {

Expr optional(Convert& c, size_t i) { return c.has(i) ? c.input(i) : Expr(); }

// Input `first`, followed by its scale and zero point, as a real.
Expr real(Convert& c, size_t first) {
  Expr scale = c.input(first + 1);
  return c.multiply(c.cast(centred(c, c.input(first), optional(c, first + 2), 0), c.dtype(scale)), scale);
}

// A real as integers with the scale at input `scale` and the zero point after it; without one it has the type of `of`.
Expr integers(Convert& c, const Expr& e, size_t scale, const Expr& of) {
  Expr zero = c.has(scale + 1) ? c.input(scale + 1) : c.scalar(0, c.dtype(of));
  return quantised(c, e, c.input(scale), zero);
}

}  // namespace

Values QuantizeLinear(Convert& c) { return convert::QuantizeLinear(c); }
Values DequantizeLinear(Convert& c) { return convert::DequantizeLinear(c); }

Values QLinearAdd(Convert& c) { return {integers(c, c.add(real(c, 0), real(c, 3)), 6, c.input(0))}; }

// (A - its zero point) * (B - its zero point) as int32.
Values MulInteger(Convert& c) {
  if (!c.has(2)) return c.bad("B is missing");
  return {c.multiply(centred(c, c.input(0), optional(c, 1), 0), centred(c, c.input(2), optional(c, 3), 0))};
}

Values ReduceSumInteger(Convert& c) {
  const bool is_signed = c.dtype(c.input(0)).code == DType::Code::Int;
  Expr wide = c.cast(c.input(0), is_signed ? DType::int32() : DType::uint32());
  std::optional<Ints> axes = c.axes(c.ints("axes"), c.rank(wide));
  if (!axes) return {};
  return {c.reduce("sum", wide, *axes, c.integer("keepdims", 1) != 0)};
}

Values QLinearMul(Convert& c) { return {integers(c, c.multiply(real(c, 0), real(c, 3)), 6, c.input(0))}; }
Values QLinearSigmoid(Convert& c) { return {integers(c, c.emit("sigmoid", {real(c, 0)}), 3, c.input(0))}; }
Values QLinearLeakyRelu(Convert& c) {
  Expr y = c.emit("nn.leaky_relu", {real(c, 0)}, {{"alpha", c.real("alpha", 0.01)}});
  return {integers(c, y, 3, c.input(0))};
}

Values QLinearWhere(Convert& c) {
  return {integers(c, c.emit("where", {c.input(0), real(c, 1), real(c, 4)}), 7, c.input(1))};
}

// Inputs: scale and zero point of the result, then data, scale and zero point of each part.
Values QLinearConcat(Convert& c) {
  ir::Exprs parts;
  for (size_t i = 2; i + 1 < c.inputs(); i += 3) parts.push_back(real(c, i));
  if (parts.empty() || !parts[0]) return c.bad("it has no parts");
  std::optional<int64_t> axis = c.axis(c.integer("axis", 0), c.rank(parts[0]));
  if (!axis) return {};
  return {integers(c, c.concatenate(parts, *axis), 0, c.input(2))};
}

Values QLinearReduceMean(Convert& c) {
  Expr x = real(c, 0);
  std::optional<Ints> axes = c.axes(c.ints("axes"), c.rank(x));
  if (!axes) return {};
  for (int64_t i = 0; c.ints("axes").empty() && i < c.rank(x); ++i) axes->push_back(i);
  return {integers(c, c.reduce("mean", x, *axes, c.integer("keepdims", 1) != 0), 3, c.input(0))};
}

Values QLinearSoftmax(Convert& c) {
  Expr x = real(c, 0);
  std::optional<int64_t> axis = c.axis(c.integer("axis", -1), c.rank(x));
  if (!axis) return {};
  if (c.integer("opset", 13) < 13 && *axis != c.rank(x) - 1)
    return c.unsupported("opset is {}: a softmax over all axes from {} on", c.integer("opset", 13), *axis);
  return {integers(c, c.emit("nn.softmax", {x}, {{"axis", *axis}}), 3, c.input(0))};
}

Values QLinearGlobalAveragePool(Convert& c) {
  Expr x = real(c, 0);
  if (!c.expect_rank(x, 3, 32, "the data")) return {};
  const int64_t first = c.integer("channels_last", 0) ? 1 : 2;
  Ints axes;
  for (int64_t i = first; i < c.rank(x) - 2 + first; ++i) axes.push_back(i);
  return {integers(c, c.reduce("mean", x, axes, true), 3, c.input(0))};
}

Values QLinearAveragePool(Convert& c) {
  const bool last = c.integer("channels_last", 0) != 0;
  Expr x = real(c, 0);
  Values y = average_pool(c, last ? channels_first(c, x) : x);
  if (y.empty()) return y;
  return {integers(c, last ? channels_last(c, y[0].expr) : y[0].expr, 3, c.input(0))};
}

// alpha * A B + C, with C in units of the scales of A and B; a real without a zero point of the result, as in ONNX
// Runtime: there in units of the result's scale.
Values QGemm(Convert& c) {
  if (!c.expect_rank(c.input(0), 2, 2, "A") || !c.expect_rank(c.input(3), 2, 2, "B")) return {};
  auto factor = [&](size_t i, const char* attribute) {
    return c.integer(attribute, 0) ? c.transpose(c.input(i), {1, 0}) : c.input(i);
  };
  Expr sums = integer_product(c, factor(0, "transA"), optional(c, 2), factor(3, "transB"), optional(c, 5));
  if (c.has(6)) sums = c.add(sums, c.input(6));
  Expr scale = c.multiply(c.multiply(c.input(1), c.input(4)), c.real("alpha", 1));
  Expr y = c.multiply(c.cast(sums, c.dtype(scale)), scale);
  if (!c.has(7)) return {y};
  return {c.has(8) ? integers(c, y, 7, c.input(0)) : c.emit("divide", {y, c.input(7)})};
}

// A B of 16-bit integers, as int32.
Values MatMulInteger16(Convert& c) {
  return {matrix_product(c, c.cast(c.input(0), DType::int32()), c.cast(c.input(1), DType::int32()))};
}

// (A - its zero point) (B - its zero point) times both scales, plus a bias.
Expr real_product(Convert& c, const Expr& a, const Expr& a_zero, const Expr& a_scale, const Expr& b, const Expr& b_zero,
                  const Expr& b_scale, const Expr& bias) {
  Expr sums = integer_product(c, a, a_zero, b, b_zero);
  Expr y = c.multiply(c.cast(sums, c.dtype(b_scale)), c.multiply(a_scale, b_scale));
  return bias ? c.add(y, bias) : y;
}

Values MatMulIntegerToFloat(Convert& c) {
  Expr a_scale = c.input(2);
  if (c.rank(a_scale) == 1 && !is_int(c.shape(a_scale)[0], 1)) a_scale = c.expand(a_scale, 1);
  return {real_product(c, c.input(0), optional(c, 4), a_scale, c.input(1), optional(c, 5), c.input(3), optional(c, 6))};
}

Values DynamicQuantizeMatMul(Convert& c) {
  DynamicallyQuantised a = dynamically_quantised(c, c.input(0));
  return {real_product(c, a.values, a.zero, a.scale, c.input(1), optional(c, 3), c.input(2), optional(c, 4))};
}

}  // namespace relay::onnx::microsoft
