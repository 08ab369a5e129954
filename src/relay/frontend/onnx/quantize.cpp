// Integers that stand for reals: real = (integer - zero_point) * scale.
#include <algorithm>
#include <cmath>

#include "relay/frontend/common/ops/quantise.h"
#include "relay/frontend/onnx/window.h"
#include "relay/tensor/storage.h"

namespace relay::onnx {

using ir::Expr;

namespace convert {

namespace {

std::optional<int64_t> channel_axis(Convert& c, const Expr& x) {
  // The axis is meaningless, and often out of range, if there is one scale, which quantisers also write as a vector of
  // one.
  const ir::Dims& scales = c.shape(c.input(1));
  if (scales.empty() || (scales.size() == 1 && is_int(scales[0], 1))) return 0;
  return c.axis(c.integer("axis", 1), c.rank(x));
}

// The length of a block of places along the axis that share a scale; 0: there are no blocks. Unset if a problem was
// reported.
std::optional<int64_t> block_length(Convert& c, const Expr& x) {
  const int64_t block = c.integer("block_size", 0);
  if (block < 0 || block > INT32_MAX) return c.bad("block_size is {}", block);
  const Expr scale = c.input(1);
  if (block == 0 || c.rank(scale) == 0 || (c.rank(scale) == 1 && c.rank(x) > 1)) return 0;
  if (c.rank(scale) != c.rank(x)) return c.bad("scales {} for the data {}", ir::str(scale->type), ir::str(x->type));
  return block;
}

// x, whose axis has as many blocks as there are scales, which may be checked on entry to the program.
Expr of_blocks(Convert& c, const Expr& x, int64_t axis, int64_t block) {
  const Expr scale = c.input(1);
  const std::optional<int64_t> blocks = c.extent(scale, axis), extent = c.extent(x, axis);
  if (block == 0 || !blocks) return x;
  if (extent && (*extent + block - 1) / block != *blocks)
    return c.bad("scales {} for the data {} in blocks of {}", ir::str(scale->type), ir::str(x->type), block);
  if (extent) return x;
  return c.emit(
      "annotation.bounded", {x},
      {{"axis", axis}, {"least", std::max<int64_t>((*blocks - 1) * block + 1, 0)}, {"most", *blocks * block}});
}

// A scale or zero point for the elements of x: one value, one per place along `axis`, or one per block of places.
Expr spread(Convert& c, Expr e, const Expr& x, int64_t axis, int64_t block) {
  if (!x || block == 0 || !e || c.rank(e) == 0) return along_axis(c, e, x, axis);
  if (c.rank(e) != c.rank(x)) return c.bad("parameters {} for the data {}", ir::str(e->type), ir::str(x->type));
  const ir::Dim& extent = c.shape(x)[static_cast<size_t>(axis)];
  if (!c.extent(e, axis) && !is_any(extent)) {
    ir::Dims blocks = c.shape(e);
    blocks[static_cast<size_t>(axis)] = scalar::simplify(floordiv(extent + (block - 1), block));
    if (std::none_of(blocks.begin(), blocks.end(), scalar::is_any)) e = c.broadcast_to(e, blocks);
  }
  // The last block may be shorter.
  return c.emit("slice_like", {c.emit("repeat", {e}, {{"repeats", block}, {"axis", axis}}), x},
                {{"axes", ir::Ints{axis}}});
}

// Reals as elements of a storage type; `zero` may be null.
Expr quantised_storage(Convert& c, const Expr& steps, const Expr& zero, DType to) {
  if (!is_storage_integer(to))
    return c.emit("cast", {steps}, {{"dtype", to}, {"saturate", c.integer("saturate", 1) != 0}});
  Expr whole = c.emit("round", {steps});
  if (zero) whole = c.add(whole, c.cast(zero, c.dtype(steps)));
  return c.cast(whole, to);  // saturates
}

// A scale or zero point as the qnn operators take it: one value, or a vector of one for each place along the axis.
Expr whole(Convert& c, const Expr& e) { return c.rank(e) == 1 && is_int(c.shape(e)[0], 1) ? c.reshape(e, {}) : e; }

// A constant with elements of 4 or 2 bits: packed, so that the program holds several in a byte; else `e`.
Expr packed(Convert& c, const Expr& e) {
  const DType dtype = c.dtype(e);
  const ir::Constant* constant = ir::as<ir::Constant>(e);
  if (!constant || !dtype.is_storage() || dtype.width() > 4 || constant->value.rank() == 0) return e;
  const Tensor& value = constant->value;
  const int64_t size = value.shape().back(), width = dtype.width(), per = 8 / width;
  relay::Shape shape = value.shape();
  shape.back() = (size + per - 1) / per;
  Tensor bytes = Tensor::full(shape, DType::uint8(), 0);
  const uint8_t* from = static_cast<const uint8_t*>(value.data());
  uint8_t* to = static_cast<uint8_t*>(bytes.mutable_data());
  for (int64_t i = 0; i < value.elements(); ++i)
    to[i / size * shape.back() + i % size / per] |= static_cast<uint8_t>(from[i] << (i % size % per * width));
  return c.emit("storage.unpack", {c.constant(std::move(bytes))}, {{"dtype", dtype}, {"size", size}});
}

// True if qnn.dequantize has the arithmetic of this node with narrow weights: products in float32, and a scale for each
// block or place.
bool is_narrow_weight(Convert& c, DType integers, int64_t block) {
  const DType scale = c.dtype(c.input(1));
  const bool is_small = integers.is_storage() || (integers.is_int() && integers.bits <= 8);
  const bool has_zero = !c.has(2) || c.dtype(c.input(2)).is_int() || is_storage_integer(c.dtype(c.input(2)));
  return is_small && has_zero && scale == DType::float32() && (block > 0 || c.rank(c.input(1)) <= 1);
}

// True if the qnn operators have the arithmetic of this node, between float32 and integers of these bits.
bool is_plain(Convert& c, DType integers, int64_t bits) {
  const DType scale = c.dtype(c.input(1));
  return c.integer("block_size", 0) == 0 && scale == DType::float32() && !integers.is_storage() && integers.is_int() &&
         integers.bits <= bits && integers != DType::uint32() && c.rank(c.input(1)) <= 1;
}

// The zero point of this node; 0 if absent.
Expr zero_point(Convert& c) { return c.has(2) ? whole(c, c.input(2)) : c.scalar(0, DType::int32()); }

// An infinite or NaN scale among known ones, or a 0 if numbers are divided by it.
std::optional<double> wrong_scale(Convert& c, bool divides) {
  const ir::Constant* scales = ir::as<ir::Constant>(c.input(1));
  for (int64_t i = 0; scales && i < scales->value.elements(); ++i)
    if (const double scale = scales->value.at(i); !std::isfinite(scale) || (divides && scale == 0)) return scale;
  return std::nullopt;
}

}  // namespace

Values DequantizeLinear(Convert& c) {
  Expr x = c.input(0);
  const std::optional<int64_t> axis = channel_axis(c, x), block = block_length(c, x);
  if (!axis || !block) return {};
  if (const std::optional<double> wrong = wrong_scale(c, false))
    return c.bad("a scale is {}, but must be a finite number", *wrong);
  const DType from = c.dtype(x);
  if (is_plain(c, from, 32) && c.integer("output_dtype", 0) == 0)
    return {c.emit("qnn.dequantize", {x, whole(c, c.input(1)), zero_point(c)}, {{"axis", *axis}})};
  if (is_narrow_weight(c, from, *block) && c.integer("output_dtype", 0) == 0) {
    Expr zero = zero_point(c);
    if (c.dtype(zero).is_storage()) zero = c.cast(zero, DType::int32());
    return {c.emit("qnn.dequantize", {packed(c, x), whole(c, c.input(1)), zero}, {{"axis", *axis}, {"block", *block}})};
  }
  Expr scale = c.input(1), value;
  if (c.dtype(scale).is_storage()) scale = c.cast(scale, DType::float32());
  std::optional<DType> to = c.dtype(scale);
  if (c.integer("output_dtype", 0)) to = element_dtype(static_cast<int32_t>(c.integer("output_dtype", 0)));
  if (!to || !to->is_float())
    return c.unsupported("it returns elements of {}", element_name(static_cast<int32_t>(c.integer("output_dtype", 0))));
  // The product is computed in float32; for a type of fewer bits it is the rounded one, if its factors fit.
  x = of_blocks(c, x, *axis, *block);
  const DType real =
      c.dtype(scale).bits < 32 && (*to != c.dtype(scale) || from.bits > 8) ? DType::float32() : c.dtype(scale);
  if (from.is_storage() && !is_storage_integer(from)) {
    value = c.cast(x, real);  // a zero point of floats is 0
  } else {
    // The difference does not fit into eight bits.
    value = c.cast(x, DType::int32());
    if (c.has(2)) value = c.subtract(value, spread(c, c.cast(c.input(2), DType::int32()), x, *axis, *block));
    value = c.cast(value, real);
  }
  return {c.cast(c.multiply(value, spread(c, c.cast(scale, real), x, *axis, *block)), *to)};
}

// The type of QuantizeLinear's division: that of the node, or that of the scale. It is float32 for integer scales and
// for types that support no arithmetic.
static std::optional<DType> division_type(Convert& c) {
  const int32_t wanted = static_cast<int32_t>(c.integer("precision", 0));
  if (!wanted) return c.dtype(c.input(1)).is_float() ? c.dtype(c.input(1)) : DType::float32();
  std::optional<DType> dtype = element_dtype(wanted);
  if (dtype && dtype->is_float()) return dtype;
  return c.bad("precision is {}, which is not a float", element_name(wanted));
}

Values QuantizeLinear(Convert& c) {
  Expr x = c.input(0);
  const std::optional<int64_t> axis = channel_axis(c, x), block = block_length(c, x);
  if (!axis || !block) return {};
  if (const std::optional<double> wrong = wrong_scale(c, true))
    return c.bad("a scale is {}, but must be a finite number other than 0", *wrong);
  const int32_t wanted = static_cast<int32_t>(c.integer("output_dtype", 0));
  std::optional<DType> real = division_type(c);
  if (!real) return {};
  const DType integers = c.has(2) ? c.dtype(c.input(2)) : DType::uint8();
  if (is_plain(c, integers, 16) && (c.has(2) || wanted == 0) && *real == DType::float32() &&
      c.dtype(x) == DType::float32())
    return {c.emit("qnn.quantize", {x, whole(c, c.input(1)), zero_point(c)},
                   {{"out_dtype", integers}, {"axis", *axis}, {"round_first", true}})};
  x = of_blocks(c, c.cast(x, *real), *axis, *block);
  const Expr scale = c.cast(c.input(1), *real);
  std::optional<DType> to = c.has(2) ? c.dtype(c.input(2)) : wanted ? element_dtype(wanted) : DType::uint8();
  if (to && to->is_storage()) {
    Expr zero = c.has(2) ? spread(c, c.input(2), x, *axis, *block) : Expr();
    return {quantised_storage(c, c.divide(x, spread(c, scale, x, *axis, *block)), zero, *to)};
  }
  if (!to || !to->is_int() || to->bits > 16) return c.unsupported("it quantises to {}", element_name(wanted));
  Expr zero = c.has(2) ? spread(c, c.input(2), x, *axis, *block) : c.scalar(0, *to);
  return {quantised(c, x, spread(c, scale, x, *axis, *block), zero)};
}

// To uint8 with the scale and zero point of the data's own range.
Values DynamicQuantizeLinear(Convert& c) {
  DynamicallyQuantised q = dynamically_quantised(c, c.input(0));
  return {q.values, q.scale, q.zero};
}

namespace {

// Sums of products as integers of y: times the scales of both factors, divided by that of the result.
Expr requantised(Convert& c, const Expr& sums, const Expr& scale, const Expr& y_scale, const Expr& y_zero) {
  // Sums do not fit into floats of 16 bits.
  const DType real = c.dtype(scale).bits < 32 ? DType::float32() : c.dtype(scale), to = c.dtype(y_zero);
  Expr steps = c.emit("round", {c.multiply(c.cast(sums, real), c.cast(c.divide(scale, y_scale), real))});
  steps = c.add(steps, c.cast(y_zero, real));
  const auto [low, high] = range_of(to);
  return c.cast(c.emit("clip", {steps}, {{"a_min", static_cast<double>(low)}, {"a_max", static_cast<double>(high)}}),
                to);
}

}  // namespace

// Inputs: x, its scale and zero point, w, its scale and zero point, those of y, a bias in units of both scales.
Values QLinearConv(Convert& c) {
  Expr sums = integer_convolution(c, c.input(0), c.input(2), c.input(3), c.input(5));
  if (c.has(8)) sums = c.emit("nn.bias_add", {sums, c.input(8)}, {{"axis", int64_t{1}}});
  if (!sums) return {};
  Expr scale = c.multiply(c.input(1), along_axis(c, c.input(4), sums, 1));
  return {requantised(c, sums, scale, c.input(6), c.input(7))};
}

Values QLinearMatMul(Convert& c) {
  // Scales and zero points, one per row of A or per column of B.
  auto rows = [&](const Expr& e) {
    return c.rank(e) == 1 && !is_int(c.shape(e)[0], 1) ? c.reshape(e, {c.shape(e)[0], scalar::imm(1)}) : e;
  };
  Expr sums = integer_product(c, c.input(0), c.input(2), c.input(3), c.input(5));
  if (!sums) return {};
  Expr scale = c.multiply(rows(c.input(1)), c.input(4));
  if (c.rank(scale) == 1 && is_int(c.shape(scale)[0], 1)) scale = c.reshape(scale, {});
  auto one = [&](const Expr& e) { return c.rank(e) == 1 && is_int(c.shape(e)[0], 1) ? c.reshape(e, {}) : e; };
  return {requantised(c, sums, scale, one(c.input(6)), one(c.input(7)))};
}

}  // namespace convert
}  // namespace relay::onnx
