// Attention as ONNX Runtime's optimiser writes it: with projections, biases, masks of lengths, and keys of earlier
// calls.
#include <cmath>

#include "relay/frontend/common/ops/curves.h"
#include "relay/frontend/common/ops/quantise.h"
#include "relay/frontend/onnx/microsoft/heads.h"
#include "relay/frontend/onnx/microsoft/shared.h"
#include "relay/frontend/onnx/window.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::microsoft {

using ir::Dims;
using ir::Expr;

namespace {

// 0 for valid keys, mask_filter_value for padding; over (N, 1, 1, L) or (N, 1, S, L). The mask has lengths (N), ends
// and then beginnings (2 N), or 0 for padding: (N, L), (N, S, L).
Expr padding_of(Convert& c, const Expr& mask, const Expr& scores) {
  const Dims &s = c.shape(scores), &m = c.shape(mask);
  const DType dtype = c.dtype(scores);
  Expr counts, wide = c.cast(mask, DType::int64());
  if (c.rank(mask) == 1) {
    Expr places = c.count_up(scores, 3);
    auto column = [&](const Expr& e) { return c.reshape(e, {s[0], scalar::imm(1), scalar::imm(1), scalar::imm(1)}); };
    if (scalar::prove_equal(m[0], s[0]) == true) {
      counts = c.emit("less", {places, column(wide)});
    } else if (scalar::prove_equal(m[0], scalar::simplify(s[0] * 2)) == true) {
      Expr both = c.reshape(wide, {scalar::imm(2), s[0]});
      Expr end = c.squeeze(c.slice(both, 0, 0, 1), 0), begin = c.squeeze(c.slice(both, 0, 1, 2), 0);
      counts = c.emit("logical_and",
                      {c.emit("less", {places, column(end)}), c.emit("greater_equal", {places, column(begin)})});
    } else {
      return c.unsupported("a mask {} for a batch of {}", ir::str(mask->type), scalar::str(s[0]));
    }
  } else if (c.rank(mask) == 2 || c.rank(mask) == 3) {
    Expr spread = c.rank(mask) == 2 ? c.expand(c.expand(wide, 1), 1) : c.expand(wide, 1);
    counts = c.emit("greater", {spread, c.integer_scalar(0)});
  } else {
    return c.unsupported("a mask {}", ir::str(mask->type));
  }
  return c.emit("where", {counts, c.scalar(0, dtype), c.scalar(c.real("mask_filter_value", -10000), dtype)});
}

}  // namespace

Attended attend(Convert& c, const Expr& q, Expr k, Expr v, const Expr& mask, const Expr& bias, const Expr& past_keys,
                const Expr& past_values) {
  if (past_keys) k = c.concatenate({past_keys, k}, 2), v = c.concatenate({past_values, v}, 2);
  if (!q || !k || !v) return {};
  std::optional<int64_t> width = c.extent(q, 3);
  if (!width || *width < 1) return c.unsized("heads without a fixed size: {}", ir::str(q->type)), Attended{};
  double scale = c.real("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(*width));
  // Scores of halves may be far larger than halves.
  const DType exact = exact_type(c, q);
  Expr scores = head_products(c, c.multiply(c.cast(q, exact), scale), c.cast(k, exact), true);
  if (!scores) return {};
  if (mask) scores = c.add(scores, padding_of(c, mask, scores));
  if (bias) scores = c.add(scores, c.cast(bias, exact));
  if (c.integer("unidirectional", 0)) {
    Expr here = c.expand(c.count_up(scores, 2), 1);
    if (past_keys) here = c.add(here, c.size_of(past_keys, 2));
    Expr seen = c.emit("less_equal", {c.count_up(scores, 3), here});
    scores = c.emit("where", {seen, scores, c.scalar(-INFINITY, c.dtype(scores))});
  }
  Expr weights = c.emit("nn.softmax", {scores}, {{"axis", int64_t{3}}});
  Expr y = c.cast(head_products(c, weights, c.cast(v, exact), false), c.dtype(q));
  return {joined_heads(c, y), k, v, c.cast(weights, c.dtype(q))};
}

namespace {

Expr optional(Convert& c, size_t i) { return c.has(i) ? c.input(i) : Expr(); }

// Part `which` of (N, L, H, parts, D) as (N, H, L, D).
Expr packed_part(Convert& c, const Expr& e, int64_t which) {
  return c.transpose(c.squeeze(c.slice(e, 3, which, which + 1), 3), {0, 2, 1, 3});
}

}  // namespace

std::optional<ir::Exprs> projections(Convert& c, const Expr& all) {
  if (!all || !c.expect_rank(all, 3, 3, "the input")) return std::nullopt;
  std::optional<int64_t> width = c.fixed_extent(all, 2, "the input");
  if (!width) return std::nullopt;
  ir::Ints sizes = c.ints("qkv_hidden_sizes");
  if (sizes.empty()) sizes.assign(3, *width / 3);
  if (sizes.size() != 3 || sizes[0] < 1 || sizes[1] < 1 || sizes[2] < 1 || sizes[0] > *width || sizes[1] > *width ||
      sizes[2] > *width || sizes[0] + sizes[1] + sizes[2] != *width)
    return c.bad("the projections are {}, which cannot be queries, keys and values of [{}]", ir::str(all->type),
                 join(sizes, ", "));
  ir::Exprs parts;
  int64_t at = 0;
  for (int64_t size : sizes) {
    parts.push_back(by_heads(c, c.slice(all, 2, at, at + size), c.integer("num_heads", 0), "a projection"));
    at += size;
  }
  return parts;
}

namespace {

// Attention of projections; keys and values of earlier calls are in one tensor (2, N, H, L, D), which may be null.
Values attend_projected(Convert& c, const Expr& all, const Expr& mask, const Expr& bias, const Expr& past) {
  if (c.integer("do_rotary", 0)) return c.unsupported("do_rotary is 1");
  if (c.integer("past_present_share_buffer", 0)) return c.unsupported("a shared buffer of past keys and values");
  std::optional<ir::Exprs> parts = projections(c, all);
  if (!parts) return {};
  Expr past_keys, past_values;
  if (past) {
    if (!c.expect_rank(past, 5, 5, "the past")) return {};
    past_keys = c.squeeze(c.slice(past, 0, 0, 1), 0), past_values = c.squeeze(c.slice(past, 0, 1, 2), 0);
  }
  Attended a = attend(c, (*parts)[0], (*parts)[1], (*parts)[2], mask, bias, past_keys, past_values);
  if (!a.y) return {};
  Values results{a.y};
  if (c.node.outputs.size() > 1 && !c.node.outputs[1].empty())
    results.push_back(Value(c.concatenate({c.expand(a.keys, 0), c.expand(a.values, 0)}, 0)));
  return results;
}

}  // namespace

// Queries, keys and values are (N, L, H * D), keys and values optionally by heads, or in one tensor; one bias for all
// three.
Values MultiHeadAttention(Convert& c) {
  const int64_t heads = c.integer("num_heads", 0);
  for (size_t i = 8; i < 10; ++i)
    if (c.has(i)) return c.unsupported("a shared buffer of past keys and values");
  if (c.has(6) != c.has(7)) return c.bad("it has past keys or past values, but not both");
  Expr parts[3];
  const bool all_in_one = c.rank(c.input(0)) == 5, two_in_one = c.has(1) && c.rank(c.input(1)) == 5;
  if ((all_in_one || two_in_one) && c.has(3)) return c.unsupported("a bias of queries, keys and values in one tensor");
  if (!all_in_one && (!c.has(1) || (!two_in_one && !c.has(2)))) return c.bad("it has queries, but no keys and values");
  int64_t at = 0;
  for (size_t i = 0; i < 3; ++i) {
    if (all_in_one || (two_in_one && i > 0)) {
      parts[i] = packed_part(c, c.input(all_in_one ? 0 : 1), static_cast<int64_t>(all_in_one ? i : i - 1));
      continue;
    }
    Expr e = c.input(i);
    if (c.has(3) && c.rank(e) == 3) {
      std::optional<int64_t> width = c.extent(e, 2);
      if (!width) return c.unsized("input {} is {}, without a fixed width", i, ir::str(e->type));
      e = c.add(e, c.slice(c.input(3), 0, at, at + *width));
      at += *width;
    }
    parts[i] = by_heads(c, e, heads, i == 0 ? "the query" : i == 1 ? "the key" : "the value");
  }
  Attended a = attend(c, parts[0], parts[1], parts[2], optional(c, 4), optional(c, 5), optional(c, 6), optional(c, 7));
  if (!a.y) return {};
  return {a.y, a.keys, a.values, a.weights};
}

Values Attention(Convert& c);

// The same for one query per sequence, with the other inputs in another order.
Values DecoderMaskedMultiHeadAttention(Convert& c) {
  if (c.integer("past_present_share_buffer", 0) || c.has(7) || c.has(8) || c.has(9))
    return c.unsupported("a shared buffer of past keys and values, with beams");
  if (!c.has(1) || !c.has(2)) return c.unsupported("queries, keys and values in one tensor");
  Values inputs(8);
  const size_t places[] = {0, 1, 2, 10, 3, 4, 5, 6};
  for (size_t i = 0; i < 8; ++i)
    if (c.has(places[i])) inputs[i] = c.value(places[i]);
  return c.as_onnx(MultiHeadAttention, c.opset, inputs);
}

// Attention with keys of earlier calls, for one query per sequence.
Values DecoderMaskedSelfAttention(Convert& c) {
  if (c.integer("past_present_share_buffer", 0) || c.has(7) || c.has(8))
    return c.unsupported("a shared buffer of past keys and values, with beams");
  if (!c.has(4)) return c.bad("it has no past");
  Values inputs = c.all_values();
  inputs.resize(6);
  return c.as_onnx(Attention, c.opset, inputs);
}

// MultiHeadAttention with the projections of one input to all three.
Values Attention(Convert& c) {
  if (c.has(6)) return c.unsupported("a shared buffer of past keys and values");
  Expr all = matrix_product(c, c.input(0), c.input(1));
  if (c.has(2)) all = c.add(all, c.input(2));
  return attend_projected(c, all, optional(c, 3), optional(c, 5), optional(c, 4));
}

// The same for integers: input, weights and bias, both scales, the mask, both zero points, the past.
Values QAttention(Convert& c) {
  Expr all =
      real_product(c, c.input(0), optional(c, 6), c.input(3), c.input(1), optional(c, 7), c.input(4), c.input(2));
  return attend_projected(c, all, optional(c, 5), nullptr, optional(c, 8));
}

}  // namespace relay::onnx::microsoft
