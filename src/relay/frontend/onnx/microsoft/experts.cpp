// A mixture of experts: each row goes through the networks that its scores select.
#include <cmath>

#include "relay/frontend/common/ops/curves.h"
#include "relay/frontend/onnx/microsoft/shared.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::microsoft {

using ir::Expr;

namespace {

// For each row the weights of its two experts in the sparse mixer (Phi-3.5-MoE, arXiv 2404.14219 and 2409.12136):
// softmax over the scores that are near the largest; the second without the first one.
Expr sparse_shares(Convert& c, const Expr& scores) {
  constexpr double tolerance = 0.02;
  if (c.integer("k", 1) != 2) return c.bad("use_sparse_mixer is 1 and k {}, not 2", c.integer("k", 1));
  const DType dtype = c.dtype(scores);
  Expr never = c.scalar(-INFINITY, dtype), places = c.count_up(scores, 1), left = scores, all;
  for (int i = 0; i < 2; ++i) {
    Expr best = c.cast(c.reduce("argmax", left, {1}, true), DType::int64());
    Expr most = c.emit("gather", {scores, best}, {{"axis", int64_t{1}}});
    Expr limit = c.multiply(c.emit("maximum", {c.emit("abs", {scores}), most}), tolerance);
    Expr near = c.emit("less_equal", {c.subtract(most, scores), limit});
    Expr share = c.emit("nn.softmax", {c.emit("where", {near, left, never})}, {{"axis", int64_t{1}}});
    Expr chosen = c.emit("equal", {places, best});
    share = c.emit("where", {chosen, share, c.scalar(0, dtype)});
    all = all ? c.add(all, share) : share;
    left = c.emit("where", {chosen, never, left});
  }
  return all;
}

// For each row the weight of each expert: softmax of the scores, 0 beyond the k largest. (rows, experts)
Expr shares(Convert& c, const Expr& scores) {
  const int64_t k = c.integer("k", 1);
  std::optional<int64_t> experts = c.fixed_extent(scores, 1, "the scores of experts");
  if (!experts) return nullptr;
  if (k < 1 || k > *experts) return c.bad("k is {} of {}", k, ir::str(scores->type));
  Expr all = c.emit("nn.softmax", {scores}, {{"axis", int64_t{1}}});
  Expr best = c.emit("topk", {all}, {{"k", k}, {"axis", int64_t{1}}, {"dtype", DType::int64()}});
  Expr values = c.get(best, 0), places = c.get(best, 1);
  if (c.integer("normalize_routing_weights", 0)) values = c.divide(values, c.reduce("sum", values, {1}, true));
  Expr chosen = c.emit("equal", {c.expand(places, 2), c.count_up(scores, 1)});
  return c.reduce("sum", c.emit("where", {chosen, c.expand(values, 2), c.scalar(0, c.dtype(values))}), {1}, false);
}

// A layer of every expert: weights (experts, m, n), null without the layer, and a bias (experts, m) or null.
struct Layer {
  Expr weight, bias;
  explicit operator bool() const { return static_cast<bool>(weight); }
};

// Applies the layer to rows of every expert (experts, rows, n).
Expr through(Convert& c, const Layer& layer, const Expr& rows) {
  Expr y = c.emit("nn.batch_matmul", {rows, layer.weight}, {{"transpose_b", true}});
  return layer.bias ? c.add(y, c.expand(layer.bias, 1)) : y;
}

Expr at_most(Convert& c, const Expr& e, double limit) { return c.emit("minimum", {e, c.scalar(limit, c.dtype(e))}); }

// g sigmoid(alpha g) (l + beta), with g and l clipped at the limit.
Expr swiglu(Convert& c, Expr g, Expr l) {
  if (c.has_attribute("swiglu_limit")) {
    const double limit = c.real("swiglu_limit", 0);
    g = at_most(c, g, limit);
    l = c.emit("clip", {l}, {{"a_min", -limit}, {"a_max", limit}});
  }
  return c.multiply(silu(c, g, c.real("activation_alpha", 1)), c.add(l, c.real("activation_beta", 0)));
}

// The activation between the two layers; `gate`: the result of a third layer, or null.
Expr between(Convert& c, const Expr& e, const Expr& gate) {
  const std::string name = c.text("activation_type", "relu");
  if (name == "swiglu") {
    if (gate) return swiglu(c, e, gate);
    const int64_t fusion = c.integer("swiglu_fusion", 0);
    std::optional<int64_t> width = c.extent(e, 2);
    if ((fusion != 1 && fusion != 2) || !width || *width % 2)
      return c.bad("swiglu_fusion is {}, without a third layer, for {}", fusion, e ? ir::str(e->type) : "?");
    if (fusion == 2) return swiglu(c, c.slice(e, 2, 0, *width / 2), c.slice(e, 2, *width / 2, *width));
    auto every_second = [&](int64_t from) {
      return c.emit(
          "strided_slice", {e},
          {{"begin", ir::Ints{from}}, {"end", ir::Ints{*width}}, {"strides", ir::Ints{2}}, {"axes", ir::Ints{2}}});
    };
    return swiglu(c, every_second(0), every_second(1));
  }
  Expr y = e;
  if (name == "relu")
    y = c.emit("nn.relu", {e});
  else if (name == "gelu")
    y = gelu(c, e, true);
  else if (name == "silu")
    y = silu(c, e);
  else if (name != "identity")
    return c.bad("activation_type is '{}'", name);
  return gate ? c.multiply(y, gate) : y;
}

}  // namespace

namespace {

// Every expert computes every row; experts that a row did not select have weight 0.
Values mixture(Convert& c, const Layer& first, const Layer& second, const Layer& gate) {
  Expr x = c.input(0), scores = c.input(1);
  if (!c.expect_rank(x, 2, 3, "the input") || !c.expect_rank(scores, 2, 2, "router_probs")) return {};
  for (const Layer* layer : {&first, &second})
    if (!c.expect_rank(layer->weight, 3, 3, "weights of experts")) return {};
  const ir::Dims shape = c.shape(x);
  const ir::Dim experts = c.shape(first.weight)[0], rows = c.shape(scores)[0];
  Expr share = c.integer("use_sparse_mixer", 0) ? sparse_shares(c, scores) : shares(c, scores);
  Expr all = c.broadcast_to(c.expand(c.reshape(x, {rows, shape.back()}), 0), {experts, rows, shape.back()});
  Expr inner = between(c, through(c, first, all), gate ? through(c, gate, all) : Expr());
  Expr y = through(c, second, inner);
  y = c.reduce("sum", c.multiply(y, c.expand(c.transpose(share, {1, 0}), 2)), {0}, false);
  return {c.reshape(y, shape)};
}

// Integers of 4 or 8 bits at input `first`, (experts, m, n * bits / 8), with scales at the next one: one per row
// (experts, m), or per block_size numbers of a row (experts, m, n / block_size). There are as many zero points, packed
// in the same way; the default is the middle of the range.
Layer quantised(Convert& c, size_t first, size_t zeros) {
  if (!c.has(first)) return {};
  const int64_t bits = c.integer("expert_weight_bits", 4), block = c.integer("block_size", 0);
  if ((bits != 4 && bits != 8) || block < 0 || !c.has(first + 1)) {
    c.bad("expert_weight_bits is {}, block_size {}", bits, block);
    return {};
  }
  const DType dtype = c.dtype(c.input(0));
  Expr weight = c.input(first), scale = c.input(first + 1);
  const int64_t scale_rank = block ? 3 : 2;
  if (!c.expect_rank(weight, 3, 3, "weights of experts") || !c.expect_rank(scale, scale_rank, scale_rank, "scales"))
    return {};
  Expr zero = c.scalar(static_cast<double>(int64_t{1} << (bits - 1)), dtype);
  if (c.has(zeros)) zero = c.cast(unpacked(c, c.input(zeros), bits), dtype);
  weight = c.cast(unpacked(c, weight, bits), dtype);
  const ir::Dims shape = c.shape(weight);
  // (experts, m, blocks, block), with a single block if there is one scale per row.
  ir::Dims blocks = shape;
  blocks[2] = block ? c.shape(scale)[2] : scalar::imm(1);
  blocks.push_back(block ? scalar::imm(block) : shape[2]);
  auto of_block = [&](const Expr& e) {
    return c.rank(e) == 0 ? e : c.reshape(e, {blocks[0], blocks[1], blocks[2], scalar::imm(1)});
  };
  weight = c.multiply(c.subtract(c.reshape(weight, blocks), of_block(zero)), of_block(c.cast(scale, dtype)));
  return {c.reshape(weight, shape), c.has(first + 2) ? c.input(first + 2) : Expr()};
}

Layer plain(Convert& c, size_t first) {
  return {c.has(first) ? c.input(first) : Expr(), c.has(first + 1) ? c.input(first + 1) : Expr()};
}

}  // namespace

Values MoE(Convert& c) {
  if (!c.has(4)) return c.bad("fc2_experts_weights is missing");
  return mixture(c, plain(c, 2), plain(c, 4), plain(c, 6));
}

// The same for integers.
Values QMoE(Convert& c) {
  if (!c.has(5)) return c.bad("fc2_experts_weights is missing");
  if (c.has(14)) return c.unsupported("router_weights besides router_probs");
  const Layer first = quantised(c, 2, 11), second = quantised(c, 5, 12), gate = quantised(c, 8, 13);
  return c.failed() ? Values() : mixture(c, first, second, gate);
}

}  // namespace relay::onnx::microsoft
