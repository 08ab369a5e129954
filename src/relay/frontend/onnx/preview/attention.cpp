// Attention whose scores and weights are modified by graphs of the node.
#include <cmath>

#include "relay/frontend/onnx/window.h"

namespace relay::onnx::preview {

using ir::Expr;

// softmax(score_mod(Q K' * scale)) through prob_mod, times V. Heads of K and V may be used by several consecutive ones
// of Q.
Values FlexAttention(Convert& c) {
  Expr q = c.input(0), k = c.input(1), v = c.input(2);
  for (const Expr& e : {q, k, v})
    if (!c.expect_rank(e, 4, 4, "Q, K and V")) return {};
  const DType given = c.dtype(q);
  std::optional<DType> exact = given == DType::float64() ? given : DType::float32();
  if (c.has_attribute("softmax_precision"))
    exact = element_dtype(static_cast<int32_t>(c.integer("softmax_precision", 1)));
  std::optional<int64_t> heads = c.extent(q, 1), shared = c.extent(k, 1), size = c.extent(q, 3);
  if (!exact || !exact->is_float()) return c.bad("softmax_precision is {}", c.integer("softmax_precision", 1));
  if (!heads || !shared || !size)
    return c.unsized("Q is {} and K {}; heads and their size must be fixed", ir::str(q->type), ir::str(k->type));
  if (*shared < 1 || *heads % *shared != 0) return c.bad("{} heads of Q share {} of K", *heads, *shared);
  auto for_all = [&](const Expr& e) {
    return *heads == *shared ? e : c.emit("repeat", {e}, {{"repeats", *heads / *shared}, {"axis", int64_t{1}}});
  };
  Expr scores = matrix_product(c, c.cast(q, *exact), c.transpose(c.cast(for_all(k), *exact), {0, 1, 3, 2}));
  scores = c.multiply(scores, c.real("scale", 1 / std::sqrt(static_cast<double>(std::max<int64_t>(*size, 1)))));
  auto through = [&](const char* name, const Expr& e) -> Expr {
    if (!c.node.find(name) || !e) return e;
    const Graph* graph = c.graph(name);
    std::optional<Values> result = graph ? c.tensors_of(*graph, {Value(e)}) : std::nullopt;
    if (!result) return nullptr;
    if (result->size() != 1) return c.bad("graph {} has {} outputs, not one", name, result->size());
    return c.expression(result->front());
  };
  Expr weights = c.emit("nn.softmax", {through("score_mod", scores)}, {{"axis", int64_t{3}}});
  weights = through("prob_mod", weights);
  if (!weights) return {};
  return {c.cast(matrix_product(c, weights, c.cast(for_all(v), *exact)), given)};
}

}  // namespace relay::onnx::preview
