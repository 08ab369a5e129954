// A mixture of experts: each row goes through the networks that its scores choose.
#include "relay/frontend/onnx/curves.h"
#include "relay/frontend/onnx/microsoft/shared.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::microsoft {

using ir::Expr;

namespace {

// Of each row the share of each expert: softmax of the scores, 0 beyond the k greatest. (rows, experts)
Expr shares(Convert& c, const Expr& scores) {
  const int64_t k = c.integer("k", 1);
  std::optional<int64_t> experts = c.extent(scores, 1);
  if (!experts || k < 1 || k > *experts) return c.bad("k is {} of {}", k, ir::str(scores->type));
  Expr all = c.emit("nn.softmax", {scores}, {{"axis", int64_t{1}}});
  Expr best = c.emit("topk", {all}, {{"k", k}, {"axis", int64_t{1}}, {"dtype", DType::int64()}});
  Expr values = c.get(best, 0), places = c.get(best, 1);
  if (c.integer("normalize_routing_weights", 0)) values = c.divide(values, c.reduce("sum", values, {1}, true));
  Expr chosen = c.emit("equal", {c.expand(places, 2), c.count_up(scores, 1)});
  return c.reduce("sum", c.emit("where", {chosen, c.expand(values, 2), c.scalar(0, c.dtype(values))}), {1}, false);
}

// Rows of every expert (experts, rows, n) by its weight (experts, m, n), with a bias (experts, m) at input `first` + 1.
Expr layer(Convert& c, const Expr& rows, size_t first) {
  Expr y = c.emit("nn.batch_matmul", {rows, c.input(first)}, {{"transpose_b", true}});
  return c.has(first + 1) ? c.add(y, c.expand(c.input(first + 1), 1)) : y;
}

Expr at_most(Convert& c, const Expr& e, double limit) { return c.emit("minimum", {e, c.scalar(limit, c.dtype(e))}); }

// g sigmoid(alpha g) (l + beta), g and l cut at the limit.
Expr swiglu(Convert& c, Expr g, Expr l) {
  if (c.has_attribute("swiglu_limit")) {
    const double limit = c.real("swiglu_limit", 0);
    g = at_most(c, g, limit);
    l = c.emit("clip", {l}, {{"a_min", -limit}, {"a_max", limit}});
  }
  Expr gate = c.emit("sigmoid", {c.multiply(g, c.real("activation_alpha", 1))});
  return c.multiply(c.multiply(g, gate), c.add(l, c.real("activation_beta", 0)));
}

// What lies between the two layers; `gate`: of a third layer, or null.
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
    y = c.multiply(e, c.emit("sigmoid", {e}));
  else if (name != "identity")
    return c.bad("activation_type is '{}'", name);
  return gate ? c.multiply(y, gate) : y;
}

}  // namespace

// Every expert computes every row; those that a row did not choose count 0.
Values MoE(Convert& c) {
  if (!c.has(4)) return c.bad("fc2_experts_weights is missing");
  Expr x = c.input(0), scores = c.input(1);
  if (c.integer("use_sparse_mixer", 0)) return c.unsupported("use_sparse_mixer is 1");
  if (!c.expect_rank(x, 2, 3, "the input") || !c.expect_rank(scores, 2, 2, "router_probs")) return {};
  for (size_t i : {size_t{2}, size_t{4}})
    if (!c.expect_rank(c.input(i), 3, 3, "weights of experts")) return {};
  const ir::Dims shape = c.shape(x);
  const ir::Dim experts = c.shape(c.input(2))[0], rows = c.shape(scores)[0];
  Expr share = shares(c, scores);
  Expr all = c.broadcast_to(c.expand(c.reshape(x, {rows, shape.back()}), 0), {experts, rows, shape.back()});
  Expr inner = between(c, layer(c, all, 2), c.has(6) ? layer(c, all, 6) : Expr());
  Expr y = layer(c, inner, 4);
  y = c.reduce("sum", c.multiply(y, c.expand(c.transpose(share, {1, 0}), 2)), {0}, false);
  return {c.reshape(y, shape)};
}

}  // namespace relay::onnx::microsoft
