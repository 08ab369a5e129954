// Building blocks of transformers.
#include <cmath>

#include "relay/frontend/common/ops/curves.h"
#include "relay/frontend/common/ops/heads.h"
#include "relay/frontend/onnx/computed.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx {

using ir::Dims;
using ir::Expr;

namespace convert {

namespace {

// Each head repeated `times` times in a row.
Expr repeated_heads(Convert& c, const Expr& e, int64_t times) {
  return times == 1 ? e : c.emit("repeat", {e}, {{"repeats", times}, {"axis", int64_t{1}}});
}

// The number of keys before the first query: those of earlier calls; for a whole cache, one number per batch.
Expr keys_before(Convert& c, const Expr& scores) {
  if (c.has(4)) return c.size_of(c.input(4), 2);
  if (!c.has(6) || !scores) return c.integer_scalar(0);
  Expr before = c.subtract(c.cast(c.input(6), DType::int64()), c.size_of(scores, 2));
  return c.reshape(before, {c.shape(scores)[0], scalar::imm(1), scalar::imm(1), scalar::imm(1)});
}

// The places where a key is visible: not later than the query, within the window around it, within the cache. Null:
// everywhere.
Expr visible(Convert& c, const Expr& scores) {
  Expr all, columns = c.count_up(scores, 3);
  auto require = [&](const Expr& condition) { all = all ? c.emit("logical_and", {all, condition}) : condition; };
  Expr here = c.add(c.expand(c.count_up(scores, 2), 1), keys_before(c, scores));
  const int64_t left = c.integer("left_window_size", -1), right = c.integer("right_window_size", -1);
  if (c.integer("is_causal", 0)) require(c.emit("less_equal", {columns, here}));
  if (left >= 0) require(c.emit("less_equal", {c.subtract(here, columns), c.integer_scalar(left)}));
  if (right >= 0) require(c.emit("less_equal", {c.subtract(columns, here), c.integer_scalar(right)}));
  if (c.has(6)) {
    Expr size = c.reshape(c.cast(c.input(6), DType::int64()),
                          {c.shape(scores)[0], scalar::imm(1), scalar::imm(1), scalar::imm(1)});
    require(c.emit("less", {columns, size}));
  }
  return all;
}

// Scores with the mask added, and -inf for invisible keys.
Expr masked(Convert& c, Expr scores) {
  if (!scores) return nullptr;
  const DType dtype = c.dtype(scores);
  Expr never = c.scalar(-INFINITY, dtype), seen = visible(c, scores);
  if (c.has(3)) {
    Expr mask = c.input(3);
    const bool logical = c.dtype(mask).is_bool();
    if (!logical) mask = c.cast(mask, dtype);
    // A mask may have fewer keys; the others are invisible.
    std::optional<int64_t> given = c.extent(mask, c.rank(mask) - 1), wanted = c.extent(scores, 3);
    if (given && wanted && *given < *wanted) {
      ir::IntLists width(static_cast<size_t>(c.rank(mask)), ir::Ints{0, 0});
      width.back()[1] = *wanted - *given;
      mask = c.pad(mask, width, logical ? c.scalar(0, DType::boolean()) : never, "constant");
    }
    scores = logical ? c.emit("where", {mask, scores, never}) : c.add(scores, mask);
  }
  return seen ? c.emit("where", {seen, scores, never}) : scores;
}

}  // namespace

// softmax(Q K' * scale + mask) V for each head; keys and values may be appended to those of earlier calls, and may have
// fewer heads than queries, each used several times.
Values Attention(Convert& c) {
  const bool flat = c.rank(c.input(0)) == 3;
  Expr q = by_heads(c, c.input(0), c.integer("q_num_heads", 0), "Q");
  Expr k = by_heads(c, c.input(1), c.integer("kv_num_heads", 0), "K");
  Expr v = by_heads(c, c.input(2), c.integer("kv_num_heads", 0), "V");
  if (!q || !k || !v) return {};
  if (c.has(4) != c.has(5)) return c.bad("it has past keys or past values, but not both");
  if (c.has(4)) k = c.concatenate({c.input(4), k}, 2), v = c.concatenate({c.input(5), v}, 2);
  std::optional<int64_t> heads = c.extent(q, 1), others = c.extent(k, 1), width = c.extent(q, 3);
  if (!heads || !others || !width)
    return c.unsized("Q {} and K {} without fixed numbers of heads and a fixed size of each", ir::str(q->type),
                     ir::str(k->type));
  if (*others < 1 || *heads % *others)
    return c.bad("Q is {} and K {}: the number of heads of one does not divide that of the other",
                 q ? ir::str(q->type) : "?", k ? ir::str(k->type) : "?");
  const double scale = std::sqrt(c.real("scale", 1 / std::sqrt(static_cast<double>(*width))));
  const int64_t times = *heads / *others, mode = c.integer("qk_matmul_output_mode", 0);
  // Scores of halves may be far larger than halves: products and softmax are float32, or what the node says if wider.
  const int64_t precision = c.integer("softmax_precision", 1);
  std::optional<DType> softmax_type = element_dtype(static_cast<int32_t>(precision));
  if (!softmax_type || !softmax_type->is_float())
    return c.bad("softmax_precision is {}, which is not a float type", precision);
  const DType given = c.dtype(q), dtype = exact_type(c, q, *softmax_type);
  auto widened = [&](const Expr& e) { return c.cast(e, dtype); };
  Expr scores =
      head_products(c, c.multiply(widened(q), scale), c.multiply(widened(repeated_heads(c, k, times)), scale), true);
  Expr shown = mode == 0 ? scores : Expr();
  const double cap = c.real("softcap", 0);
  auto capped = [&](const Expr& e) { return cap > 0 ? c.multiply(c.emit("tanh", {c.multiply(e, 1 / cap)}), cap) : e; };
  scores = capped(scores);
  if (mode == 1) shown = scores;
  const Expr before = scores;
  scores = masked(c, scores);
  if (mode == 2) shown = scores;
  Expr weights = c.emit("nn.softmax", {scores}, {{"axis", int64_t{3}}});
  // A query without visible keys yields zeros. NaN in the data stays.
  if (scores != before) {
    const Expr most = c.reduce("max", scores, {3}, true);
    weights = c.emit("where", {c.emit("equal", {most, c.scalar(-INFINITY, dtype)}), c.scalar(0, dtype), weights});
  }
  if (mode == 3) shown = weights;
  Expr y = c.cast(head_products(c, weights, widened(repeated_heads(c, v, times)), false), given);
  if (shown) shown = c.cast(shown, given);
  return {flat ? joined_heads(c, y) : y, k, v, shown};
}

// Pairs of elements rotated by angles that depend on the place in the sequence; the caches have their cosines and
// sines.
Values RotaryEmbedding(Convert& c) {
  const bool flat = c.rank(c.input(0)) == 3;
  Expr x = by_heads(c, c.input(0), c.integer("num_heads", 0), "X");
  if (!x) return {};
  x = c.transpose(x, {0, 2, 1, 3});  // (N, L, H, D)
  std::optional<int64_t> width = c.extent(x, 3);
  if (!width) return c.unsized("heads without a fixed size: {}", ir::str(x->type));
  int64_t rotary_size = c.integer("rotary_embedding_dim", 0);
  if (rotary_size == 0) rotary_size = *width;
  if (rotary_size < 2 || rotary_size > *width || rotary_size % 2)
    return c.bad("rotary_embedding_dim is {} of {}", rotary_size, *width);
  auto angles = [&](size_t i) {
    Expr e = c.input(i);
    if (c.has(3))
      e = c.emit("take", {e, checked_rows(c, c.input(3), e, "a value in position_ids")},
                 {{"axis", int64_t{0}}, {"mode", "clip"}});
    return c.expand(c.slice(e, 2, 0, rotary_size / 2), 2);  // (N, L, 1, D / 2)
  };
  Expr y = rotated(c, x, angles(1), angles(2), rotary_size, c.integer("interleaved", 0) != 0);
  if (!flat) return {c.transpose(y, {0, 2, 1, 3})};
  return {c.reshape(y, c.shape(c.input(0)))};
}

}  // namespace convert
}  // namespace relay::onnx
