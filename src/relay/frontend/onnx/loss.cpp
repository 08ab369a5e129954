// Losses, as in graphs exported for training.
#include "relay/frontend/common/ops/curves.h"
#include "relay/frontend/onnx/convert.h"

namespace relay::onnx::convert {

using ir::Expr;

namespace {

// The mean (over the weights), the sum, or all of the losses -weight[t] * logs[n, t, ..], in the type of `logs`.
Expr likelihood(Convert& c, const Expr& logs, const Expr& target, const Expr& weights) {
  if (!logs || !target) return nullptr;
  Expr labels = c.cast(target, DType::int64());
  Expr ignored;
  if (c.has_attribute("ignore_index")) {
    const double index = static_cast<double>(c.integer("ignore_index", 0));
    ignored = c.emit("equal", {labels, c.scalar(index, DType::int64())});
    labels = c.emit("where", {ignored, c.scalar(0, DType::int64()), labels});
  }
  Expr picked = c.squeeze(c.emit("gather", {logs, c.expand(labels, 1)}, {{"axis", int64_t{1}}}), 1);
  Expr weight =
      weights ? c.emit("take", {c.cast(weights, c.dtype(logs)), labels}, {{"axis", int64_t{0}}, {"mode", "checked"}})
              : Expr();
  Expr loss = c.emit("negative", {weight ? c.multiply(picked, weight) : picked});
  if (ignored) {  // also where the logarithm is infinite
    const Expr zero = c.scalar(0, c.dtype(logs));
    loss = c.emit("where", {ignored, zero, loss});
    weight = c.emit("where", {ignored, zero, weight ? weight : c.scalar(1, c.dtype(logs))});
  }
  const std::string how = c.text("reduction", "mean");
  if (how == "none") return loss;
  if (how != "mean" && how != "sum") return c.bad("reduction is '{}', not none, mean or sum", how);
  if (how == "mean" && !weight) return c.reduce("mean", loss, {}, false);
  Expr sum = c.reduce("sum", loss, {}, false);
  return how == "sum" ? sum : c.divide(sum, c.reduce("sum", weight, {}, false));
}

}  // namespace

Values NegativeLogLikelihoodLoss(Convert& c) {
  return {computed_exactly(c, c.input(0), [&](const Expr& logs) {
    return likelihood(c, logs, c.input(1), c.has(2) ? c.input(2) : Expr());
  })};
}

Values SoftmaxCrossEntropyLoss(Convert& c) {
  const Expr x = c.input(0);
  const DType dtype = c.dtype(x);
  const Expr logs = c.emit("nn.log_softmax", {c.cast(x, exact_type(c, x))}, {{"axis", int64_t{1}}});
  const Expr loss = likelihood(c, logs, c.input(1), c.has(2) ? c.input(2) : Expr());
  if (!loss) return {};
  return {c.cast(loss, dtype), c.cast(logs, dtype)};
}

}  // namespace relay::onnx::convert
