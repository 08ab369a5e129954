// Layers of models whose memory is a state instead of a cache: LinearAttention and the convolution in front of it.
#include <cmath>

#include "relay/frontend/common/ops/curves.h"
#include "relay/frontend/common/steps.h"
#include "relay/frontend/onnx/convert.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::convert {

using ir::Dim;
using ir::Dims;
using ir::Expr;
using ir::Exprs;

// A depthwise convolution along time whose window ends at its place; elements before the first are the state.
Values CausalConvWithState(Convert& c) {
  Expr x = c.input(0), weight = c.input(1);
  const std::string activation = c.text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return c.bad("activation is '{}', not silu, swish or none", activation);
  if (!c.expect_rank(x, 3, 3, "the data") || !c.expect_rank(weight, 3, 3, "the weight")) return {};
  std::optional<int64_t> channels = c.extent(weight, 0), taps = c.extent(weight, 2);
  if (!channels || !taps || c.extent(weight, 1) != 1 || *taps < 1)
    return c.bad("the weight is {}, not (channels, 1, taps)", ir::str(weight->type));
  const Dim batch = c.shape(x)[0];
  Expr past = c.has(3)
                  ? c.input(3)
                  : c.broadcast_to(c.scalar(0, c.dtype(x)), {batch, scalar::imm(*channels), scalar::imm(*taps - 1)});
  Expr all = *taps > 1 ? c.concatenate({past, x}, 2) : x;
  Expr y = c.emit("nn.conv1d", {all, weight},
                  {{"groups", *channels}, {"channels", *channels}, {"kernel_size", ir::Ints{*taps}}});
  if (c.has(2)) y = c.emit("nn.bias_add", {y, c.input(2)}, {{"axis", int64_t{1}}});
  if (activation != "none") y = silu(c, y);
  if (!all) return {};
  // The last taps - 1 of all: as many as the data's length are left out in front.
  if (*taps == 1) return {y, past};
  if (std::optional<int64_t> length = c.extent(all, 2)) return {y, c.slice(all, 2, *length - *taps + 1, *length)};
  Expr latest = c.emit("reverse", {c.slice(c.emit("reverse", {all}, {{"axis", int64_t{2}}}), 2, 0, *taps - 1)},
                       {{"axis", int64_t{2}}});
  return {y, latest};
}

namespace {

struct Heads {
  int64_t of_query, of_key, key_size, value_size;
};

// (B, T, heads * D) as (T, B, heads, D) in float32; null for null.
Expr unpacked(Convert& c, const Expr& e, int64_t heads) {
  if (!e) return e;
  const Dims s = c.shape(e);
  Expr split = c.reshape(c.cast(e, DType::float32()),
                         {s[0], s[1], scalar::imm(heads), scalar::imm(c.extent(e, 2).value_or(0) / heads)});
  return c.transpose(split, {1, 0, 2, 3});
}

// Heads and their sizes; unset if a problem was reported.
std::optional<Heads> read_heads(Convert& c) {
  Heads h{c.integer("q_num_heads", 0), c.integer("kv_num_heads", 0), 0, 0};
  if (h.of_query < 1 || h.of_key < 1 || h.of_query % h.of_key != 0)
    return c.bad("q_num_heads is {}, which kv_num_heads {} does not divide", h.of_query, h.of_key);
  for (size_t i = 0; i < 3; ++i) {
    const char* what = i == 0 ? "the query" : i == 1 ? "the key" : "the value";
    if (!c.expect_rank(c.input(i), 3, 3, what)) return std::nullopt;
    const int64_t heads = i == 0 ? h.of_query : h.of_key;
    std::optional<int64_t> size = c.fixed_extent(c.input(i), 2, what);
    if (!size) return std::nullopt;
    if (*size % heads != 0)
      return c.bad("input {} is {}, which cannot be split into {} heads", i, ir::str(c.input(i)->type), heads);
    (i == 2 ? h.value_size : h.key_size) = *size / heads;
  }
  if (c.extent(c.input(0), 2) != h.of_query * h.key_size)
    return c.bad("query {} and key {} have heads of different sizes", ir::str(c.input(0)->type),
                 ir::str(c.input(1)->type));
  return h;
}

}  // namespace

// S = exp(g) S + k (v - S' k) beta and o = scale q' S, step by step; without decay g, or without correcting v by S' k,
// depending on update_rule. S is (B, heads, key size, value size).
Values LinearAttention(Convert& c) {
  const std::string rule = c.text("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta", corrected = rule == "delta" || rule == "gated_delta";
  if (!gated && !corrected && rule != "linear")
    return c.bad("update_rule is '{}', not linear, gated, delta or gated_delta", rule);
  if (gated != c.has(4) || corrected != c.has(5))
    return c.bad("update_rule '{}' {} a decay and {} a beta", rule, gated ? "needs" : "has not",
                 corrected ? "needs" : "has not");
  std::optional<Heads> h = read_heads(c);
  if (!h) return {};
  const DType dtype = c.dtype(c.input(0)), kept = c.has(3) ? c.dtype(c.input(3)) : dtype;
  const Dims packed = c.shape(c.input(0));
  const Dim batch = packed[0], length = packed[1];
  double scale = c.real("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(h->key_size));
  auto last = [&](size_t i) { return c.has(i) ? c.extent(c.input(i), 2).value_or(0) : 0; };
  if (gated && last(4) != h->of_key && last(4) != h->of_key * h->key_size)
    return c.bad("the decay is {}; its last size should be {} or {}", ir::str(c.input(4)->type), h->of_key,
                 h->of_key * h->key_size);
  if (corrected && last(5) != h->of_key && last(5) != 1)
    return c.bad("the beta is {}; its last size should be {} or 1", ir::str(c.input(5)->type), h->of_key);
  Captures outside(c);
  Expr query = outside.hold(unpacked(c, c.input(0), h->of_query)),
       key = outside.hold(unpacked(c, c.input(1), h->of_key)), value = outside.hold(unpacked(c, c.input(2), h->of_key)),
       decay, beta;
  if (gated) decay = outside.hold(c.emit("exp", {unpacked(c, c.input(4), h->of_key)}));
  if (corrected) beta = outside.hold(unpacked(c, c.input(5), last(5) == 1 ? 1 : h->of_key));
  Steps steps;
  steps.count = outside.hold(c.size_of(c.input(0), 1)), steps.size = length;
  const Dims state{batch, scalar::imm(h->of_key), scalar::imm(h->key_size), scalar::imm(h->value_size)};
  steps.state = {c.has(3) ? c.cast(c.input(3), DType::float32())
                          : c.broadcast_to(c.scalar(0, DType::float32()), state)};
  const Dim matrices = scalar::simplify(batch * h->of_key);
  std::optional<Stepped> all = repeat(c, steps, outside, [&](const Expr& index, const Exprs& before) {
    auto at = [&](const Expr& e) { return c.emit("take", {e, index}, {{"axis", int64_t{0}}}); };
    Expr s = before[0], k = c.expand(at(key), 3), v = at(value);
    if (gated) s = c.multiply(s, c.expand(at(decay), 3));
    if (corrected) v = c.multiply(at(beta), c.subtract(v, c.reduce("sum", c.multiply(s, k), {2}, false)));
    s = c.add(s, c.multiply(k, c.expand(v, 2)));
    Expr rows = c.reshape(at(query), {matrices, scalar::imm(h->of_query / h->of_key), scalar::imm(h->key_size)});
    Expr flat = c.reshape(s, {matrices, scalar::imm(h->key_size), scalar::imm(h->value_size)});
    Expr o = c.emit("nn.batch_matmul", {rows, flat}, {{"transpose_b", false}});
    Step step;
    step.state = {s}, step.outputs = {c.multiply(o, scale)};
    return std::optional(step);
  });
  if (!all) return {};
  Expr outputs = c.reshape(all->outputs[0], {length, batch, scalar::imm(h->of_query * h->value_size)});
  return {c.cast(c.transpose(outputs, {1, 0, 2}), dtype), c.cast(all->state[0], kept)};
}

}  // namespace relay::onnx::convert
