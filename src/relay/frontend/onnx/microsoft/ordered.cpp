// Operators of 8-bit integers with explicit storage orders of matrices (cublasLt's orders). Rows for data and columns
// for weights can be imported; a weight of (K, N) in columns is stored as (N, K) in rows.
#include <cmath>

#include "relay/frontend/common/ops/curves.h"
#include "relay/frontend/common/ops/norm.h"
#include "relay/frontend/common/ops/quantise.h"
#include "relay/frontend/onnx/microsoft/heads.h"
#include "relay/frontend/onnx/microsoft/shared.h"
#include "relay/frontend/onnx/norm.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::microsoft {

using ir::Expr;

namespace {

constexpr int64_t columns = 0, rows = 1;

// True if these attributes have this order.
bool in_order(Convert& c, std::initializer_list<const char*> names, int64_t order) {
  for (const char* name : names)
    if (c.integer(name, order) != order)
      return c.unsupported("{} is {}, a layout of one library's kernels; {} can be imported", name,
                           c.integer(name, order), order),
             false;
  return true;
}

Expr real(Convert& c, const Expr& e, const Expr& scale) { return c.multiply(c.cast(e, DType::float32()), scale); }
Expr integers(Convert& c, const Expr& e, const Expr& scale) {
  return quantised(c, e, scale, c.scalar(0, DType::int8()));
}
// A real rounded to these integers.
Expr rounded(Convert& c, const Expr& e, const Expr& scale) { return real(c, integers(c, e, scale), scale); }

// A weight (K, N) stored in columns; null if a problem was reported.
Expr weight_of(Convert& c, const Expr& e) {
  if (!c.expect_rank(e, 2, 2, "the weight")) return nullptr;
  const ir::Dims s = c.shape(e);
  return c.transpose(c.reshape(e, {s[1], s[0]}), {1, 0});
}

}  // namespace

Values QuantizeWithOrder(Convert& c) {
  if (!in_order(c, {"order_output"}, c.integer("order_input", rows))) return {};
  return {integers(c, c.cast(c.input(0), DType::float32()), c.input(1))};
}

Values DequantizeWithOrder(Convert& c) {
  if (!in_order(c, {"order_output"}, c.integer("order_input", rows))) return {};
  const int64_t to = c.integer("to", 1);
  if (to != 1 && to != 10) return c.bad("to is {}, not 1 (float32) or 10 (float16)", to);
  return {c.cast(real(c, c.input(0), c.input(1)), to == 1 ? DType::float32() : DType::float16())};
}

Values QOrderedGelu(Convert& c) {
  if (!in_order(c, {"order_Y"}, c.integer("order_X", rows))) return {};
  return {integers(c, gelu(c, real(c, c.input(0), c.input(1)), false), c.input(2))};
}

Values QOrderedLayerNormalization(Convert& c) {
  if (!in_order(c, {"order_X", "order_Y"}, rows)) return {};
  if (!c.has(4)) return c.bad("scale_Y is missing");
  Expr x = real(c, c.input(0), c.input(1));
  std::optional<int64_t> axis = c.axis(c.integer("axis", -1), c.rank(x));
  if (!axis) return {};
  if (*axis + 1 != c.rank(x)) return c.unsupported("axis is {}, not the last one", *axis);
  const DType f32 = DType::float32();
  Expr y = c.multiply(standardised(c, x, {*axis}, c.real("epsilon", 1e-5)), c.cast(c.input(2), f32));
  return {integers(c, c.has(3) ? c.add(y, c.cast(c.input(3), f32)) : y, c.input(4))};
}

// (A B) with their scales, a bias of reals, and C with its scale, in integers of another scale.
Values QOrderedMatMul(Convert& c) {
  if (!in_order(c, {"order_A", "order_Y"}, rows) || !in_order(c, {"order_B"}, columns)) return {};
  if (c.has(6) != c.has(7)) return c.bad("it has C or scale_C, but not both");
  Expr b = weight_of(c, c.input(2));
  if (!b) return {};
  Expr y = real_product(c, c.input(0), nullptr, c.input(1), b, nullptr, c.input(3), c.has(5) ? c.input(5) : Expr());
  if (c.has(6)) y = c.add(y, real(c, c.input(6), c.input(7)));
  return {integers(c, y, c.input(4))};
}

// Each product, and the result of softmax, is kept in integers with a separate scale.
Values QOrderedAttention(Convert& c) {
  if (!in_order(c, {"order_input", "order_output"}, rows) || !in_order(c, {"order_weight"}, columns)) return {};
  if (c.has(18) || c.has(19)) return c.unsupported("keys of earlier calls, and a bias of scores");
  for (size_t i : {14, 15, 16})
    if (!c.has(i)) return c.bad("input {}, a scale, is missing", i);
  ir::Exprs parts;
  for (size_t i = 0; i < 3; ++i) {
    Expr weight = weight_of(c, c.input(5 + i));
    if (!weight) return {};
    Expr product = real_product(c, c.input(0), nullptr, c.input(1), weight, nullptr, c.input(8 + i), c.input(11 + i));
    parts.push_back(by_heads(c, rounded(c, product, c.input(2 + i)), c.integer("num_heads", 0), "a projection"));
  }
  if (c.failed()) return {};
  std::optional<int64_t> width = c.extent(parts[0], 3);
  if (!width || *width < 1) return c.unsized("heads without a fixed size: {}", ir::str(parts[0]->type));
  const DType f32 = DType::float32();
  Expr scores = rounded(c, head_products(c, parts[0], parts[1], true), c.input(14)), seen;
  scores = c.multiply(scores, 1 / std::sqrt(static_cast<double>(*width)));
  if (c.has(17)) {
    if (!c.expect_rank(c.input(17), 2, 2, "mask_index")) return {};
    seen = c.expand(c.expand(c.emit("not_equal", {c.input(17), c.scalar(0, c.dtype(c.input(17)))}), 1), 1);
  }
  if (c.integer("unidirectional", 0)) {
    Expr before = c.emit("less_equal", {c.count_up(scores, 3), c.expand(c.count_up(scores, 2), 1)});
    seen = seen ? c.emit("logical_and", {seen, before}) : before;
  }
  if (seen) scores = c.emit("where", {seen, scores, c.scalar(-INFINITY, f32)});
  Expr weights = rounded(c, c.emit("nn.softmax", {scores}, {{"axis", int64_t{3}}}), c.input(15));
  return {integers(c, joined_heads(c, head_products(c, weights, parts[2], false)), c.input(16))};
}

// LongformerAttention whose projections are kept in integers.
Values QOrderedLongformerAttention(Convert& c) {
  if (!in_order(c, {"order_input", "order_output"}, rows) ||
      !in_order(c, {"order_weight", "order_global_weight"}, columns))
    return {};
  auto projected = [&](size_t weight, size_t scale, size_t bias, size_t kept) -> Expr {
    Expr matrix = weight_of(c, c.input(weight));
    if (!matrix) return nullptr;
    Expr product = real_product(c, c.input(0), nullptr, c.input(1), matrix, nullptr, c.input(scale), c.input(bias));
    return rounded(c, product, c.input(kept));
  };
  Expr local = projected(2, 3, 4, 6), everywhere = projected(8, 9, 10, 11);
  if (!local || !everywhere) return {};
  Expr y = longformer(c, local, everywhere, c.cast(c.input(7), DType::float32()), c.input(12));
  return y ? Values{integers(c, y, c.input(13))} : Values();
}

}  // namespace relay::onnx::microsoft
