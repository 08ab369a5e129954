// Attention of language model decoders: fewer heads of keys than of queries, and a cache of keys and values whose first
// rows are filled, up to the length of each sequence.
#include <cmath>

#include "relay/frontend/common/ops/curves.h"
#include "relay/frontend/common/ops/norm.h"
#include "relay/frontend/onnx/computed.h"
#include "relay/frontend/onnx/microsoft/heads.h"
#include "relay/frontend/onnx/norm.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::microsoft {

using ir::Dim;
using ir::Expr;

Expr weights_of(Convert& c, const Expr& scores) {
  const bool smooth = c.integer("smooth_softmax", -1) > 0;
  if (!smooth && !c.has(11)) return c.emit("nn.softmax", {scores}, {{"axis", int64_t{3}}});
  const DType dtype = c.dtype(scores);
  Expr sink = c.has(11) ? c.cast(c.input(11), dtype) : c.scalar(0, dtype);
  if (c.rank(sink) == 1) sink = c.expand(c.expand(c.expand(sink, 0), 2), 3);
  Expr most = c.emit("maximum", {c.reduce("max", scores, {3}, true), sink});
  Expr each = c.emit("exp", {c.subtract(scores, most)});
  return c.divide(each, c.add(c.reduce("sum", each, {3}, true), c.emit("exp", {c.subtract(sink, most)})));
}

namespace {

struct Group {
  int64_t heads, kv_heads, size;  // of queries, of keys and values, of each
  Expr q, k, v;                   // (N, H, L, D)
  Expr before;                    // (N,) int64: the number of a sequence's keys in the cache
  Expr lengths;                   // (N,) int64: the number of all its keys, minus one
};

// Queries, keys and values by heads, from one tensor or three.
std::optional<Group> read_group(Convert& c) {
  Group g{c.integer("num_heads", 0), c.integer("kv_num_heads", 0), 0, {}, {}, {}, {}, {}};
  if (g.heads < 1 || g.kv_heads < 1 || g.heads % g.kv_heads)
    return c.bad("num_heads is {}, which kv_num_heads {} does not divide", g.heads, g.kv_heads);
  if (!c.expect_rank(c.input(0), 3, 3, "the query")) return std::nullopt;
  if (c.has(1) != c.has(2)) return c.bad("it has keys or values, but not both");
  std::optional<int64_t> width = c.fixed_extent(c.input(0), 2, "the query");
  if (!width) return std::nullopt;
  const int64_t parts = c.has(1) ? g.heads : g.heads + 2 * g.kv_heads;
  if (*width % parts) return c.bad("the query is {}, which {} heads do not divide", ir::str(c.input(0)->type), parts);
  g.size = *width / parts;
  Expr q = c.input(0), k = c.input(1), v = c.input(2);
  if (!c.has(1)) {
    const int64_t end = g.heads * g.size, more = g.kv_heads * g.size;
    q = c.slice(c.input(0), 2, 0, end), k = c.slice(c.input(0), 2, end, end + more),
    v = c.slice(c.input(0), 2, end + more, end + 2 * more);
  }
  g.q = by_heads(c, q, g.heads, "the query"), g.k = by_heads(c, k, g.kv_heads, "the key"),
  g.v = by_heads(c, v, g.kv_heads, "the value");
  if (!g.q || !g.k || !g.v) return std::nullopt;
  // seqlens_k is the number of all keys of a sequence minus one; for a prompt that is shorter than others, less than
  // there are rows.
  Expr lengths = c.cast(c.input(5), DType::int64());
  if (c.rank(lengths) != 1) lengths = c.reshape(lengths, {c.shape(g.q)[0]});
  Expr after = c.subtract(c.add(lengths, c.integer_scalar(1)), c.size_of(g.q, 2));
  g.lengths = lengths;
  g.before = c.emit("maximum", {after, c.integer_scalar(0)});
  return g;
}

// (N,) as (N, 1, ..), to broadcast with tensors of `rank` axes.
Expr by_sequence(Convert& c, const Expr& e, int64_t rank) {
  Expr out = e;
  for (int64_t i = 1; i < rank; ++i) out = c.expand(out, i);
  return out;
}

// Queries or keys rotated by the angles of their places, (N, H, L, D).
Expr rotary_embedded(Convert& c, const Group& g, const Expr& e) {
  std::optional<int64_t> half =
      c.has(7) && c.has(8) && c.rank(c.input(7)) == 2 ? c.extent(c.input(7), 1) : std::nullopt;
  if (!half || *half < 1 || 2 * *half > g.size)
    return c.bad("do_rotary is 1, but there are no cosines and sines (positions, angles) for heads of {}", g.size);
  Expr places =
      c.has(9) ? c.cast(c.input(9), DType::int64()) : c.add(c.expand(c.count_up(e, 2), 0), c.expand(g.before, 1));
  auto angles = [&](size_t i) {
    const Expr rows = checked_rows(c, places, c.input(i), "the position of a query or key");
    return c.expand(c.emit("take", {c.input(i), rows}, {{"axis", int64_t{0}}, {"mode", "clip"}}), 2);
  };
  Expr rows = c.transpose(e, {0, 2, 1, 3});
  Expr y = rotated(c, rows, angles(7), angles(8), 2 * *half, c.integer("rotary_interleaved", 0) != 0);
  return c.transpose(y, {0, 2, 1, 3});
}

// The number of rows of the new cache: the specified one, but at least that of the old one.
std::optional<Dim> cache_rows(Convert& c, const Expr& past) {
  KnownRef total = c.known(6);
  if (!total || total->values.size() != 1) return std::nullopt;
  const Dim rows = past ? scalar::simplify(scalar::max(total->values[0], c.shape(past)[2])) : total->values[0];
  return rows;
}

// The rows of a call appended to those of each sequence in the old cache. `rows`: 0, 1, .. for those of the new one.
Expr with_past(Convert& c, const Group& g, const Expr& past, const Expr& fresh, const Expr& rows) {
  Expr both = c.concatenate({past, fresh}, 2);
  Expr old = c.size_of(past, 2), at = c.expand(rows, 0), before = c.expand(g.before, 1);
  Expr last = c.add(c.add(old, c.size_of(fresh, 2)), c.integer_scalar(-1));
  Expr into = c.subtract(at, before);  // the place among the fresh rows
  Expr is_fresh = c.emit("logical_and", {c.emit("greater_equal", {into, c.integer_scalar(0)}),
                                         c.emit("less", {into, c.size_of(fresh, 2)})});
  // Rows after the fresh ones are kept; rows that neither has are undefined.
  Expr here = c.emit("minimum", {c.emit("where", {is_fresh, c.add(into, old), at}), last});
  // (N, L, H, D), so that each sequence is read by its own indices.
  Expr picked =
      c.emit("take", {c.transpose(both, {0, 2, 1, 3}), here}, {{"axis", int64_t{1}}, {"batch_dims", int64_t{1}}});
  return c.transpose(picked, {0, 2, 1, 3});
}

// The same for a new cache with exactly the rows of both: only the rows of the call may have to move, to the end of a
// sequence that is shorter than the old cache.
Expr with_whole_past(Convert& c, const Group& g, const Expr& past, const Expr& fresh) {
  const Expr both = c.concatenate({past, fresh}, 2);
  const Expr into = c.subtract(c.expand(c.count_up(both, 2), 0), c.expand(g.before, 1));  // the position in `fresh`
  Expr is_fresh = c.emit("logical_and", {c.emit("greater_equal", {into, c.integer_scalar(0)}),
                                         c.emit("less", {into, c.size_of(fresh, 2)})});
  Expr moved = c.emit("take", {c.transpose(fresh, {0, 2, 1, 3}), into},
                      {{"axis", int64_t{1}}, {"batch_dims", int64_t{1}}, {"mode", "clip"}});
  return c.emit("where", {c.expand(c.expand(is_fresh, 1), 3), c.transpose(moved, {0, 2, 1, 3}), both});
}

// The total number of keys that the node names, but at least the rows of the old cache.
Expr total_rows(Convert& c) {
  const Expr total = c.rank(c.input(6)) > 0 ? c.reshape(c.input(6), {}) : c.input(6);
  return c.emit("maximum", {c.cast(total, DType::int64()), c.size_of(c.input(3), 2)});
}

// Scores with -inf for invisible keys.
Expr seen(Convert& c, const Group& g, const Expr& scores) {
  const int64_t window = c.integer("local_window_size", -1);
  Expr columns = c.count_up(scores, 3), condition;
  if (c.integer("causal", 1)) {
    Expr here = c.add(c.expand(c.count_up(scores, 2), 1), by_sequence(c, g.before, 4));
    condition = c.emit("less_equal", {columns, here});
    if (window > 0)
      condition =
          c.emit("logical_and", {condition, c.emit("less", {c.subtract(here, columns), c.integer_scalar(window)})});
  } else {
    Expr all = c.reshape(c.cast(c.input(5), DType::int64()), {c.shape(scores)[0]});
    condition = c.emit("less_equal", {columns, by_sequence(c, all, 4)});
  }
  return c.emit("where", {condition, scores, c.scalar(-INFINITY, c.dtype(scores))});
}

bool is_plain(Convert& c) {
  if (c.has(12) || c.has(13) || c.text("k_quant_type", "NONE") != "NONE" || c.text("v_quant_type", "NONE") != "NONE")
    return c.unsupported("a cache of integers"), false;
  if (c.integer("sliding_window_cache", 0)) return c.unsupported("sliding_window_cache is 1"), false;
  if (c.integer("qk_output", 0)) return c.unsupported("qk_output is {}", c.integer("qk_output", 0)), false;
  if (c.has(3) != c.has(4)) return c.bad("it has past keys or past values, but not both"), false;
  return true;
}

}  // namespace

// softmax(q k' * scale, over the keys up to the query's own place) v, with keys and values appended to those of earlier
// calls.
Values GroupQueryAttention(Convert& c) {
  if (!c.has(0) || !c.has(5) || !c.has(6)) return c.bad("the query, seqlens_k or total_sequence_length is missing");
  if (!is_plain(c)) return {};
  std::optional<Group> g = read_group(c);
  if (!g) return {};
  const Expr last = c.add(c.has(3) ? total_rows(c) : c.size_of(g->k, 2), -1);
  g->before = refused_where(
      c, g->before, not_within(c, g->lengths, c.integer_scalar(0), last), "a length in seqlens_k exceeds the keys",
      "give the number of keys of each sequence minus one, at least 0 and below total_sequence_length");
  if (c.has(14) != c.has(15)) return c.bad("it has weights for the norm of either queries or keys, but not for both");
  if (c.has(14)) {
    const double epsilon = c.real("qk_norm_epsilon", 1e-6);
    g->q = c.multiply(rms_normalised(c, g->q, {3}, epsilon), c.input(14));
    g->k = c.multiply(rms_normalised(c, g->k, {3}, epsilon), c.input(15));
  }
  if (c.integer("do_rotary", 0)) g->q = rotary_embedded(c, *g, g->q), g->k = rotary_embedded(c, *g, g->k);
  if (!g->q || !g->k) return {};
  Expr keys = g->k, values = g->v;
  if (c.has(3)) {
    std::optional<Dim> size = cache_rows(c, c.input(3));
    const Dim together = scalar::simplify(c.shape(c.input(3))[2] + c.shape(g->k)[2]);
    if (size && scalar::prove_equal(*size, together) == true) {
      keys = with_whole_past(c, *g, c.input(3), keys), values = with_whole_past(c, *g, c.input(4), values);
    } else {
      Expr rows = size ? c.count_up(c.broadcast_to(c.integer_scalar(1), {*size}), 0)
                       : c.emit("arange", {c.integer_scalar(0), total_rows(c), c.integer_scalar(1)},
                                {{"dtype", DType::int64()}});
      keys = with_past(c, *g, c.input(3), keys, rows), values = with_past(c, *g, c.input(4), values, rows);
    }
  }
  const int64_t times = g->heads / g->kv_heads;
  auto for_all = [&](const Expr& e) {
    return times == 1 ? e : c.emit("repeat", {e}, {{"repeats", times}, {"axis", int64_t{1}}});
  };
  double scale = c.real("scale", 0), cap = c.real("softcap", 0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(g->size));
  // Scores of halves may be far larger than halves.
  const DType exact = exact_type(c, g->q);
  Expr scores = head_products(c, c.multiply(c.cast(g->q, exact), scale), c.cast(for_all(keys), exact), true);
  if (cap > 0) scores = c.multiply(c.emit("tanh", {c.multiply(scores, 1 / cap)}), cap);
  if (c.has(10)) scores = c.add(scores, c.cast(c.input(10), exact));
  Expr weights = weights_of(c, scores ? seen(c, *g, scores) : scores);
  Expr y = c.cast(head_products(c, weights, c.cast(for_all(values), exact), false), c.dtype(g->q));
  return {joined_heads(c, y), keys, values};
}

}  // namespace relay::onnx::microsoft
