// Terms that attention adds to scores for the distance of two places.
#include <cmath>

#include "relay/frontend/common/ops/heads.h"
#include "relay/frontend/onnx/computed.h"
#include "relay/frontend/onnx/microsoft/shared.h"
#include "relay/frontend/onnx/window.h"

namespace relay::onnx::microsoft {

using ir::Expr;

// T5's bias (https://arxiv.org/abs/1910.10683): distances have buckets, one each for near ones, logarithmic ones for
// far ones. The table is (buckets, heads) and is stored head by head.
Values RelativePositionBias(Convert& c) {
  const int64_t farthest = c.integer("max_distance", 0);
  const bool both_ways = c.integer("is_bidirectional", 0) != 0;
  Expr table = c.input(0);
  std::optional<int64_t> all = c.rank(table) == 2 ? c.extent(table, 0) : std::nullopt;
  const int64_t buckets = all ? (both_ways ? *all / 2 : *all) : 0, near = buckets / 2;
  if (near < 1 || farthest <= near) return c.bad("max_distance is {} for a table {}", farthest, ir::str(table->type));
  auto places = [&](size_t i) {
    Expr size = c.cast(c.input(i), DType::int64());
    return numbers_to(c, size && c.rank(size) > 0 ? c.reshape(size, {}) : size);
  };
  const DType f32 = DType::float32(), i64 = DType::int64();
  Expr ahead = c.subtract(c.expand(places(2), 0), c.expand(places(1), 1));  // (queries, keys)
  Expr zero = c.integer_scalar(0), back = c.emit("maximum", {c.multiply(ahead, -1), zero});
  Expr distance = both_ways ? c.emit("abs", {ahead}) : back;
  const double step =
      static_cast<double>(buckets - near) / std::log(static_cast<double>(farthest) / static_cast<double>(near));
  Expr ratio =
      c.multiply(c.cast(c.emit("maximum", {distance, c.integer_scalar(1)}), f32), 1 / static_cast<double>(near));
  Expr far = c.cast(c.multiply(c.emit("log", {ratio}), step), i64);
  far = c.emit("minimum", {c.add(far, static_cast<double>(near)), c.integer_scalar(buckets - 1)});
  Expr bucket = c.emit("where", {c.emit("less", {distance, c.integer_scalar(near)}), distance, far});
  if (both_ways) {
    Expr later = c.emit("less", {zero, ahead});
    bucket = c.emit("where", {later, c.add(bucket, static_cast<double>(buckets)), bucket});
  }
  Expr by_head = c.reshape(table, {c.shape(table)[1], c.shape(table)[0]});
  return {c.expand(c.emit("take", {by_head, bucket}, {{"axis", int64_t{1}}, {"mode", "clip"}}), 0)};
}

// WavLM's bias (https://arxiv.org/abs/2110.13900): a bias of positions times (u (r * eco_a - 1) + 2), with gates u and
// r that each query computes from its own elements.
Values GatedRelativePositionBias(Convert& c) {
  if (c.has(6)) return c.unsupported("queries without paddings (token_offset)");
  Expr q = by_heads(c, c.add(c.input(0), c.input(1)), c.integer("num_heads", 0), "query_layer");
  if (!q) return {};
  Expr gates = c.add(matrix_product(c, q, c.input(3)), c.input(4));  // (N, H, L, D)
  std::optional<int64_t> width = c.rank(gates) == 4 ? c.extent(gates, 3) : std::nullopt;
  if (!width || *width % 2 || *width < 2) return c.bad("the gates' weight is {}", ir::str(c.input(3)->type));
  auto gate = [&](int64_t from) {
    return c.emit("sigmoid", {c.reduce("sum", c.slice(gates, 3, from, from + *width / 2), {3}, true)});
  };
  Expr u = gate(0), r = gate(*width / 2);
  Expr factor = c.add(c.multiply(u, c.add(c.multiply(r, c.input(5)), -1)), 2);
  return {c.multiply(factor, c.input(2))};
}

}  // namespace relay::onnx::microsoft
