// Queries and keys rotated by the angles of their places.
#include "relay/frontend/common/ops/heads.h"
#include "relay/frontend/onnx/computed.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::microsoft {

using ir::Expr;

namespace {

// x (N, L, H * D) or (N, H, L, D), with its heads rotated by the angles of caches (places, angles). `picked`: the rows
// (.., L, angles) of input i, a cache, for the places of x (N, L, H, D).
Values rotary_embedding(Convert& c, function_ref<Expr(size_t i, const Expr& x)> picked) {
  if (c.integer("is_packed_batching", 0)) return c.unsupported("is_packed_batching is 1");
  if (c.real("scale", 1) != 1) return c.unsupported("scale is {}", c.real("scale", 1));
  Expr x = c.input(0);
  if (!c.expect_rank(c.input(2), 2, 2, "cos_cache")) return {};
  std::optional<int64_t> half = c.fixed_extent(c.input(2), 1, "cos_cache");
  if (!half) return {};
  if (*half < 1) return c.bad("cos_cache is {}, not (positions, angles)", ir::str(c.input(2)->type));
  int64_t heads = c.integer("num_heads", 0);
  const bool flat = c.rank(x) == 3;
  if (heads == 0 && flat) {
    std::optional<int64_t> hidden = c.fixed_extent(x, 2, "the input");
    if (!hidden) return {};
    heads = *hidden / (2 * *half);
  }
  x = by_heads(c, x, heads, "the input");
  if (!x) return {};
  x = c.transpose(x, {0, 2, 1, 3});  // (N, L, H, D)
  std::optional<int64_t> width = c.fixed_extent(x, 3, "the input by heads");
  if (!width) return {};
  if (2 * *half > *width) return c.bad("cos_cache has {} angles for heads {}", *half, ir::str(x->type));
  auto angles = [&](size_t i) { return c.expand(picked(i, x), 2); };
  Expr y = rotated(c, x, angles(2), angles(3), 2 * *half, c.integer("interleaved", 0) != 0);
  if (!flat) return {c.transpose(y, {0, 2, 1, 3})};
  return {c.reshape(y, c.shape(c.input(0)))};
}

Expr rows_at(Convert& c, const Expr& cache, const Expr& places) {
  return c.emit("take", {cache, checked_rows(c, places, cache, "a value in position_ids")},
                {{"axis", int64_t{0}}, {"mode", "clip"}});
}

// The stream of positions, of three, for each angle: in three runs, or every third angle for the second and third
// stream as long as those last. Unset if a problem was reported.
std::optional<std::vector<int64_t>> streams_of(Convert& c, int64_t angles) {
  const ir::Ints sections = c.ints("mrope_section");
  const int64_t layout = c.integer("mrope_layout", 0);
  if (layout != 0 && layout != 1) return c.bad("mrope_layout is {}, not 0 or 1", layout);
  int64_t rest = angles;
  for (int64_t section : sections) {
    if (section < 0 || section > rest) rest = -1;
    if (rest < 0) break;
    rest -= section;
  }
  if (sections.size() != 3 || rest != 0)
    return c.bad("mrope_section is [{}], but must be three numbers with the sum {}", join(sections, ", "), angles);
  std::vector<int64_t> of(static_cast<size_t>(angles), 0);
  for (int64_t i = 0, first = sections[0], second = first + sections[1]; i < angles; ++i) {
    int64_t& stream = of[static_cast<size_t>(i)];
    if (layout == 0)
      stream = i < first ? 0 : i < second ? 1 : 2;
    else if (i % 3 > 0 && i < 3 * sections[static_cast<size_t>(i % 3)])
      stream = i % 3;
  }
  return of;
}

}  // namespace

// Like ONNX's, with the positions before the caches; a single position is the beginning of the sequence.
Values RotaryEmbedding(Convert& c) {
  return rotary_embedding(c, [&](size_t i, const Expr& x) {
    Expr positions = c.input(1);
    if (c.rank(positions) == 1) positions = c.expand(c.add(c.cast(positions, DType::int64()), c.count_up(x, 1)), 0);
    return rows_at(c, c.input(i), positions);
  });
}

// For images and videos (https://arxiv.org/abs/2409.12191): positions (3, N, L) in time, height and width, each of
// which has some of the angles.
Values MRotaryEmbedding(Convert& c) {
  if (!c.expect_rank(c.input(1), 3, 3, "position_ids")) return {};
  if (c.extent(c.input(1), 0) != 3) return c.bad("position_ids is {}, not (3, N, L)", ir::str(c.input(1)->type));
  return rotary_embedding(c, [&](size_t i, const Expr&) -> Expr {
    const int64_t angles = c.extent(c.input(i), 1).value_or(0);
    std::optional<std::vector<int64_t>> streams = streams_of(c, angles);
    if (!streams || !c.may_make(3 * angles, DType::boolean())) return nullptr;
    Tensor own = Tensor::empty({3, 1, 1, angles}, DType::boolean());
    for (int64_t s = 0; s < 3; ++s)
      for (int64_t a = 0; a < angles; ++a) own.set_int(s * angles + a, (*streams)[static_cast<size_t>(a)] == s);
    Expr all = rows_at(c, c.input(i), c.input(1));
    Expr kept = c.emit("where", {c.constant(std::move(own)), all, c.scalar(0, c.dtype(all))});
    return c.reduce("sum", kept, {0}, false);
  });
}

// Queries and keys, and both with their halves exchanged, by the cosines and sines of angles (N, L, D).
Values GemmaRotaryEmbedding(Convert& c) {
  if (!c.expect_rank(c.input(0), 3, 3, "emb")) return {};
  auto wave = [&](const char* op, const Expr& like) {
    return c.expand(c.cast(c.emit(op, {c.input(0)}), c.dtype(like)), 1);
  };
  auto both = [&](const Expr& e, const Expr& exchanged) {
    return c.add(c.multiply(e, wave("cos", e)), c.multiply(exchanged, wave("sin", e)));
  };
  return {both(c.input(1), c.input(2)), both(c.input(3), c.input(4))};
}

}  // namespace relay::onnx::microsoft
