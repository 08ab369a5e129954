// Attention to some of the keys: blocks of them, or neighbours and a few that all see. Scores of all keys are computed,
// and masked ones are -inf.
#include <cmath>

#include "relay/frontend/common/ops/curves.h"
#include "relay/frontend/onnx/microsoft/heads.h"
#include "relay/frontend/onnx/microsoft/shared.h"
#include "relay/frontend/onnx/window.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::microsoft {

using ir::Expr;

Values GroupQueryAttention(Convert& c);

namespace {

// A mask of blocks, (layouts, blocks, blocks), from the rows (layouts, blocks + 1) and columns (layouts, entries) of
// matrices in CSR form.
Expr counting_blocks(Convert& c, const Expr& rows, const Expr& columns) {
  const DType f32 = DType::float32();
  const Expr begin = c.expand(c.slice(rows, 1, 0, -1), 2), end = c.expand(c.slice(rows, 1, 1, INT32_MAX), 2);
  const Expr entry = c.cast(c.count_up(columns, 1), c.dtype(rows));
  Expr in_row =
      c.emit("logical_and", {c.emit("less_equal", {begin, entry}), c.emit("less", {entry, end})});  // (.., row, entry)
  Expr column = c.cast(c.count_up(c.slice(rows, 1, 1, INT32_MAX), 1), c.dtype(columns));
  Expr in_column = c.emit("equal", {c.expand(columns, 2), column});  // (.., entry, column)
  Expr entries = c.emit("nn.batch_matmul", {c.cast(in_row, f32), c.cast(in_column, f32)}, {{"transpose_b", false}});
  return c.emit("greater", {entries, c.scalar(0, f32)});
}

Expr taken(Convert& c, const Expr& e, const Expr& places, int64_t axis) {
  return c.emit("take", {e, places}, {{"axis", axis}, {"mode", "clip"}});
}

}  // namespace

// GroupQueryAttention with a cache of its final size, where queries of a block see keys of the blocks in the head's
// layout; heads take layouts in turn.
Values SparseAttention(Convert& c) {
  const int64_t block = c.integer("sparse_block_size", 0), heads = c.integer("num_heads", 0);
  for (size_t i : {0, 3, 4, 5, 6, 8})
    if (!c.has(i)) return c.bad("input {} is missing", i);
  Expr rows = c.input(5), columns = c.input(6), past = c.input(3), query = c.input(0);
  if (!c.expect_rank(rows, 2, 2, "block_row_indices") || !c.expect_rank(columns, 2, 2, "block_col_indices") ||
      !c.expect_rank(past, 4, 4, "past_key") || !c.expect_rank(query, 3, 3, "the query"))
    return {};
  std::optional<int64_t> layouts = c.extent(rows, 0);
  if (!layouts || *layouts < 1 || heads < 1 || heads % *layouts)
    return c.bad("block_row_indices is {}, whose layouts do not divide {} heads", ir::str(rows->type), heads);
  if (block < 1 || block > 65536) return c.bad("sparse_block_size is {}", block);
  const DType i64 = DType::int64();
  Expr counts = counting_blocks(c, rows, columns);
  if (heads > *layouts) counts = c.emit("tile", {counts}, {{"reps", ir::Ints{heads / *layouts, 1, 1}}});
  Expr lengths = c.cast(c.input(8), i64), size = c.integer_scalar(block);
  if (c.rank(lengths) != 1) lengths = c.reshape(lengths, {c.shape(query)[0]});
  Expr before = c.emit("maximum", {c.subtract(lengths, c.size_of(query, 1)), c.integer_scalar(0)});
  auto block_of = [&](const Expr& place) { return c.emit("floor_divide", {place, size}); };
  Expr seen = taken(c, counts, block_of(c.add(c.expand(before, 1), c.count_up(query, 1))), 1);  // (H, N, L, blocks)
  seen = c.transpose(taken(c, seen, block_of(c.count_up(past, 2)), 3), {1, 0, 2, 3});
  const DType dtype = c.dtype(query);
  Expr bias = c.emit("where", {seen, c.scalar(0, dtype), c.scalar(-INFINITY, dtype)});

  Values inputs = c.all_values();
  inputs.resize(11);
  const Value cosines = c.has(9) ? inputs[9] : Value(), sines = c.has(10) ? inputs[10] : Value();
  if (c.failed()) return {};
  inputs[5] = Value(c.add(lengths, -1));
  inputs[6] = Value(known_scalar(c.shape(past)[2], i64));
  inputs[7] = cosines, inputs[8] = sines, inputs[9] = Value(), inputs[10] = Value(bias);
  return c.as_onnx(GroupQueryAttention, c.opset, inputs);
}

Expr longformer(Convert& c, const Expr& local, const Expr& everywhere, const Expr& mask, const Expr& global) {
  const int64_t window = c.integer("window", 0);
  if (window < 1 || window > INT32_MAX) return c.bad("window is {}", window);
  if (!c.expect_rank(mask, 2, 2, "mask") || !c.expect_rank(global, 2, 2, "global")) return nullptr;
  Expr padding = c.expand(c.expand(mask, 1), 1);  // (N, 1, 1, L)
  Expr is_global = c.emit("not_equal", {global, c.scalar(0, c.dtype(global))});
  auto attended = [&](const Expr& all, const Expr& may_see) -> Expr {
    std::optional<ir::Exprs> parts = projections(c, all);
    std::optional<int64_t> size = parts && (*parts)[0] ? c.extent((*parts)[0], 3) : std::nullopt;
    if (!size || *size < 1) return c.unsized("heads without a fixed size");
    const DType dtype = c.dtype(all), exact = exact_type(c, all);
    for (Expr& part : *parts) part = c.cast(part, exact);
    Expr q = c.multiply((*parts)[0], 1 / std::sqrt(static_cast<double>(*size)));
    Expr scores = c.add(head_products(c, q, (*parts)[1], true), c.cast(padding, exact));
    if (may_see) scores = c.emit("where", {may_see, scores, c.scalar(-INFINITY, c.dtype(scores))});
    Expr weights = c.emit("nn.softmax", {scores}, {{"axis", int64_t{3}}});
    return c.cast(joined_heads(c, head_products(c, weights, (*parts)[2], false)), dtype);
  };
  Expr place = c.count_up(mask, 1), far = c.emit("abs", {c.subtract(c.expand(place, 0), c.expand(place, 1))});
  Expr near = c.emit("less_equal", {far, c.integer_scalar(window)});  // (L, L)
  Expr seen = c.emit("logical_or", {near, c.expand(c.expand(is_global, 1), 1)});
  return c.emit("where", {c.expand(is_global, 2), attended(everywhere, nullptr), attended(local, seen)});
}

// Longformer's attention (https://arxiv.org/abs/2004.05150): a query sees keys that are at most `window` away and those
// of global tokens; the queries of global tokens, which have separate projections, see all.
Values LongformerAttention(Convert& c) {
  auto projected = [&](size_t weight) {
    return c.add(matrix_product(c, c.input(0), c.input(weight)), c.input(weight + 1));
  };
  return {longformer(c, projected(1), projected(4), c.input(3), c.input(6))};
}

}  // namespace relay::onnx::microsoft
