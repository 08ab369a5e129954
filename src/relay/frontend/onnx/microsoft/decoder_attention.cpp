// Attention in fairseq's decoders: time before batch, and flags for the sources of keys and values.
#include "relay/frontend/onnx/microsoft/heads.h"
#include "relay/frontend/onnx/window.h"

namespace relay::onnx::microsoft {

using ir::Expr;

// static_kv: keys and values are made from `key` (cross attention), else from the query; use_past with has_layer_state:
// they come from the caches, to which those of the query are added unless static_kv.
Values DecoderAttention(Convert& c) {
  const char* const names[] = {"static_kv", "use_past", "has_layer_state", "has_key_padding_mask"};
  bool flags[4];
  for (size_t i = 0; i < 4; ++i) {
    std::optional<double> flag = c.number(8 + i, names[i]);
    if (!flag) return {};
    flags[i] = *flag != 0;
  }
  const auto [cross, use_past, has_state, has_mask] = flags;
  const bool cached = use_past && has_state;
  if (cached && (!c.has(6) || !c.has(7))) return c.bad("use_past is true, but there are no caches");
  if (has_mask && !c.has(5)) return c.bad("has_key_padding_mask is true, but there is no mask");
  const int64_t heads = c.integer("num_heads", 0);
  if (!c.expect_rank(c.input(2), 2, 2, "q_weight")) return {};
  std::optional<int64_t> width = c.fixed_extent(c.input(2), 1, "q_weight");
  if (!width) return {};
  if (!c.expect_rank(c.input(0), 3, 3, "the query") || !c.expect_rank(c.input(1), 3, 3, "the key")) return {};

  auto projected = [&](size_t data, size_t weight, int64_t from, int64_t to) {
    return c.add(matrix_product(c, c.transpose(c.input(data), {1, 0, 2}), c.input(weight)),
                 c.slice(c.input(4), 0, from * *width, to * *width));
  };
  auto half = [&](const Expr& both, int64_t which, const char* what) {
    return by_heads(c, c.slice(both, 2, which * *width, (which + 1) * *width), heads, what);
  };
  Expr q = by_heads(c, projected(0, 2, 0, 1), heads, "the query"), k, v;
  if (cached && cross) {
    k = c.input(6), v = c.input(7);
  } else {
    Expr both = projected(cross ? 1 : 0, 3, 1, 3);
    k = half(both, 0, "the key"), v = half(both, 1, "the value");
  }
  const bool grows = cached && !cross;
  Expr mask = has_mask ? c.cast(c.emit("logical_not", {c.input(5)}), DType::int64()) : Expr();
  Attended a = attend(c, q, k, v, mask, nullptr, grows ? c.input(6) : Expr(), grows ? c.input(7) : Expr());
  return {c.transpose(a.y, {1, 0, 2}), a.keys, a.values};
}

}  // namespace relay::onnx::microsoft
