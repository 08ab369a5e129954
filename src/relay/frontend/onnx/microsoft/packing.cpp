// Sequences of different lengths as rows of one matrix, without padding, and back. token_offset (N, L) has the places
// in (N * L) of the valid rows, in order, followed by those of the padding.
#include <array>
#include <cmath>

#include "relay/frontend/onnx/computed.h"
#include "relay/frontend/onnx/microsoft/heads.h"
#include "relay/frontend/onnx/microsoft/shared.h"
#include "relay/frontend/onnx/window.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::microsoft {

using ir::Expr;

namespace {

Expr rows_at(Convert& c, const Expr& e, const Expr& places) {
  return c.emit("take", {e, places}, {{"axis", int64_t{0}}, {"mode", "clip"}});
}

Expr flat(Convert& c, const Expr& offset) {
  const ir::Dims& s = c.shape(offset);
  return c.reshape(offset, {scalar::simplify(s[0] * s[1])});
}

// Rows (T, W) as (N, L, W), with arbitrary rows for padding. `row`: the number of the row for each place (N * L).
Expr spread(Convert& c, const Expr& rows, const Expr& row, const Expr& offset) {
  const ir::Dims s = c.shape(offset);
  Expr all = rows_at(c, rows, row);
  return all ? c.reshape(all, {s[0], s[1], c.shape(all)[1]}) : all;
}

Expr row_of_place(Convert& c, const Expr& offset) {
  return c.emit("argsort", {flat(c, offset)}, {{"axis", int64_t{0}}, {"dtype", DType::int64()}});
}

// Attention of packed sequences: `all` are matrices (T, W) of queries, keys and values, or one of all three.
Values attend_packed(Convert& c, const ir::Exprs& all, size_t first) {
  if (!c.has(first) || !c.has(first + 1)) return c.bad("token_offset or cumulative_sequence_length is missing");
  Expr offset = c.input(first), ends = c.input(first + 1);
  if (!c.expect_rank(offset, 2, 2, "token_offset") || !c.expect_rank(ends, 1, 1, "cumulative_sequence_length"))
    return {};
  for (const Expr& e : all)
    if (!c.expect_rank(e, 2, 2, "queries, keys and values")) return {};
  Expr row = row_of_place(c, offset);
  ir::Exprs parts;
  for (const Expr& e : all) parts.push_back(spread(c, e, row, offset));
  if (parts.size() == 1) {
    std::optional<ir::Exprs> three = projections(c, parts[0]);
    if (!three) return {};
    parts = *std::move(three);
  } else {
    for (Expr& e : parts) e = by_heads(c, e, c.integer("num_heads", 0), "a projection");
  }
  if (c.failed()) return {};
  Expr lengths = c.subtract(c.slice(ends, 0, 1, INT32_MAX), c.slice(ends, 0, 0, -1));
  Expr counts = c.emit("less", {c.count_up(offset, 1), c.expand(c.cast(lengths, DType::int64()), 1)});
  const DType dtype = c.dtype(parts[0]);
  Expr bias = c.emit("where", {counts, c.scalar(0, dtype), c.scalar(-INFINITY, dtype)});
  bias = c.expand(c.expand(bias, 1), 1);  // (N, 1, 1, L)
  if (c.has(first + 2)) bias = c.add(bias, c.input(first + 2));
  Expr y = attend(c, parts[0], parts[1], parts[2], nullptr, bias, nullptr, nullptr).y;
  if (!y) return {};
  const ir::Dims s = c.shape(y);
  y = c.reshape(y, {scalar::simplify(s[0] * s[1]), s[2]});
  return {rows_at(c, y, rows_at(c, flat(c, offset), c.count_up(all[0], 0)))};
}

}  // namespace

// Input (N, L, W) and the lengths (N): the valid rows, token_offset, the ends of sequences (N + 1), the longest.
Values RemovePadding(Convert& c) {
  Expr x = c.input(0), lengths = c.cast(c.input(1), DType::int64());
  if (!c.expect_rank(x, 3, 3, "the input") || !c.expect_rank(lengths, 1, 1, "sequence_token_count")) return {};
  const ir::Dims s = c.shape(x);
  const DType i64 = DType::int64(), i32 = DType::int32();
  const ir::Dim places = scalar::simplify(s[0] * s[1]);
  Expr counts = c.reshape(c.emit("less", {c.count_up(x, 1), c.expand(lengths, 1)}), {places});
  Expr place = c.count_up(counts, 0), behind = c.add(place, c.size_of(counts, 0));
  Expr order = c.emit("argsort", {c.emit("where", {counts, place, behind})}, {{"axis", int64_t{0}}, {"dtype", i64}});
  Expr kept = rows_at(c, order, numbers_to(c, c.reduce("sum", lengths, {}, false)));
  Expr ends = c.concatenate({c.constant(Tensor::from_ints({1}, i64, std::array<int64_t, 1>{0})),
                             c.emit("cumsum", {lengths}, {{"axis", int64_t{0}}})},
                            0);
  Expr longest = c.reduce("max", lengths, {0}, true);
  return {rows_at(c, c.reshape(x, {places, s[2]}), kept), c.cast(c.reshape(order, {s[0], s[1]}), i32),
          c.cast(ends, i32), c.cast(longest, i32)};
}

// The inverse, with zeros for padding.
Values RestorePadding(Convert& c) {
  Expr x = c.input(0), offset = c.input(1);
  if (!c.expect_rank(x, 2, 2, "the input") || !c.expect_rank(offset, 2, 2, "token_offset")) return {};
  Expr row = row_of_place(c, offset), counts = c.emit("less", {row, c.size_of(x, 0)});
  counts = c.expand(c.reshape(counts, c.shape(offset)), 2);
  return {c.emit("where", {counts, spread(c, x, row, offset), c.scalar(0, c.dtype(x))})};
}

Values PackedAttention(Convert& c) {
  Expr all = matrix_product(c, c.input(0), c.input(1));
  return attend_packed(c, {c.has(2) ? c.add(all, c.input(2)) : all}, 3);
}

// Queries, keys and values as (T, H * D), or all in one, (T, H, 3, D).
Values PackedMultiHeadAttention(Convert& c) {
  Expr q = c.input(0);
  if (c.rank(q) == 4) {
    if (c.has(3)) return c.unsupported("a bias of queries, keys and values in one tensor");
    const ir::Dims s = c.shape(q);
    ir::Exprs parts;
    for (int64_t i = 0; i < 3; ++i)
      parts.push_back(c.reshape(c.slice(q, 2, i, i + 1), {s[0], scalar::simplify(s[1] * s[3])}));
    return attend_packed(c, parts, 4);
  }
  if (!c.has(1) || !c.has(2)) return c.bad("it has queries, but no keys and values");
  ir::Exprs parts{q, c.input(1), c.input(2)};
  int64_t at = 0;
  for (Expr& e : parts) {
    if (!c.has(3)) break;
    std::optional<int64_t> width = c.rank(e) == 2 ? c.extent(e, 1) : std::nullopt;
    if (!width) return c.unsized("a bias for {}, without a fixed width", ir::str(e->type));
    e = c.add(e, c.slice(c.input(3), 0, at, at + *width));
    at += *width;
  }
  return attend_packed(c, parts, 4);
}

}  // namespace relay::onnx::microsoft
