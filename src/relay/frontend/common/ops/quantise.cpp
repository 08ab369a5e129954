#include "relay/frontend/common/ops/quantise.h"

#include "relay/frontend/common/ops/matrix_product.h"

namespace relay::frontend {

using ir::Expr;

std::pair<int64_t, int64_t> range_of(DType dtype) {
  const bool is_signed = dtype.code != DType::Code::UInt;
  const int64_t end = int64_t{1} << (dtype.bits - (is_signed ? 1 : 0));
  return {is_signed ? -end : 0, end - 1};
}

Expr along_axis(Conversion& c, const Expr& e, const Expr& x, int64_t axis) {
  if (!e || c.rank(e) == 0) return e;
  if (c.rank(e) != 1) return c.unsupported("scales in blocks");
  if (is_int(c.shape(e)[0], 1)) return c.reshape(e, {});
  ir::Dims shape(static_cast<size_t>(c.rank(x)), scalar::imm(1));
  shape[static_cast<size_t>(axis)] = c.shape(e)[0];
  return c.reshape(e, shape);
}

Expr centred(Conversion& c, const Expr& e, const Expr& zero, int64_t axis) {
  Expr wide = c.cast(e, DType::int32());
  return zero ? c.subtract(wide, along_axis(c, c.cast(zero, DType::int32()), e, axis)) : wide;
}

Expr zero_of(Conversion& c, const Expr& zero) {
  if (!zero) return c.scalar(0, DType::int32());
  return c.rank(zero) == 1 && is_int(c.shape(zero)[0], 1) ? c.reshape(zero, {}) : zero;
}

Expr integer_product(Conversion& c, const Expr& a, const Expr& a_zero, const Expr& b, const Expr& b_zero) {
  const Expr left = zero_of(c, a_zero), right = zero_of(c, b_zero);
  if (!a || !b || !left || !right) return {};
  const bool is_matrix = c.rank(b) <= 2, has_columns = c.rank(b) > 1;
  if (c.rank(left) == 0 && c.rank(right) <= (is_matrix && has_columns ? 1 : 0)) {
    const Expr scale = c.scalar(1, DType::float32());
    auto emit = [&](const char* name, const Expr& x, const Expr& y, const EmitAttrs& attrs) {
      return c.emit(name, {x, y, scale, left, scale, right}, attrs);
    };
    return matrix_product(
        c, a, b,
        {[&](const Expr& x, const Expr& y) { return emit("qnn.dense", x, c.transpose(y, {1, 0}), {}); },
         [&](const Expr& x, const Expr& y) {
           return emit("qnn.batch_matmul", x, y, {{"transpose_a", false}, {"transpose_b", false}});
         }});
  }
  const int64_t rows = std::max<int64_t>(c.rank(a) - 2, 0), columns = c.rank(b) - 1;
  auto minus = [&](const Expr& e, const Expr& zero, int64_t axis) {
    const Expr wide = c.cast(e, DType::int32()), point = c.cast(zero, DType::int32());
    return c.subtract(wide, c.rank(point) == 1 ? along_axis(c, point, e, axis) : point);
  };
  return matrix_product(c, minus(a, left, rows), minus(b, right, columns));
}

Expr quantised(Conversion& c, const Expr& real, const Expr& scale, const Expr& zero) {
  if (!real || !zero) return nullptr;
  // A sum in 16 bits would not stay integral; the division has the type in the model.
  const DType wide = c.dtype(real).bits < 32 ? DType::float32() : c.dtype(real);
  Expr steps = c.add(c.emit("round", {c.cast(c.divide(real, scale), wide)}), c.cast(zero, wide));
  const auto [low, high] = range_of(c.dtype(zero));
  return c.cast(c.emit("clip", {steps}, {{"a_min", static_cast<double>(low)}, {"a_max", static_cast<double>(high)}}),
                c.dtype(zero));
}

// 0 is always representable.
DynamicallyQuantised dynamically_quantised(Conversion& c, const Expr& x) {
  Expr zero = c.scalar(0, c.dtype(x));
  Expr high = c.emit("maximum", {c.emit("max", {x}), zero}), low = c.emit("minimum", {c.emit("min", {x}), zero});
  Expr range = c.divide(c.subtract(high, low), c.scalar(255, c.dtype(x)));
  auto saturated = [&](const Expr& e) {
    return c.emit("clip", {c.emit("round", {e})}, {{"a_min", 0.0}, {"a_max", 255.0}});
  };
  // The scale of zeros alone is 1, as in ONNX Runtime.
  Expr scale = c.emit("where", {c.emit("equal", {range, zero}), c.scalar(1, c.dtype(x)), range});
  Expr point = saturated(c.divide(c.emit("negative", {low}), scale));
  Expr steps =
      c.emit("clip", {c.add(c.emit("round", {c.divide(x, scale)}), point)}, {{"a_min", 0.0}, {"a_max", 255.0}});
  return {c.cast(steps, DType::uint8()), scale, c.cast(point, DType::uint8())};
}

}  // namespace relay::frontend
