// Linear models.
#include "relay/frontend/onnx/ml/scores.h"

namespace relay::onnx::ml {

using ir::Expr;

namespace {

// x times coefficients (rows, features), plus one intercept per row.
Expr linear(Convert& c, int64_t rows) {
  Expr x = samples(c);
  const std::vector<double> weights = float_values(c, "coefficients"), intercepts = float_values(c, "intercepts");
  if (!x) return nullptr;
  if (rows < 1 || weights.empty() || static_cast<int64_t>(weights.size()) % rows != 0)
    return c.bad("it has {} coefficients for {} rows", weights.size(), rows);
  x = c.cast(x, DType::float32());
  const int64_t features = static_cast<int64_t>(weights.size()) / rows;
  Expr scores = c.emit("nn.dense", {x, floats(c, weights, {rows, features}, DType::float32())});
  return intercepts.empty() ? scores : c.add(scores, floats(c, intercepts, {rows}, DType::float32()));
}

}  // namespace

Values LinearRegressor(Convert& c) {
  Expr scores = linear(c, c.integer("targets", 1));
  return {scores ? transformed(c, scores) : scores};
}

Values LinearClassifier(Convert& c) {
  const int64_t intercepts = static_cast<int64_t>(float_values(c, "intercepts").size());
  const int64_t rows = intercepts ? intercepts : std::max<int64_t>(class_count(c), 1);
  Expr scores = linear(c, rows);
  if (!scores) return {};
  if (rows > 1 || c.text("post_transform", "NONE") == "LOGISTIC") return classified(c, scores, false);
  Values results = classified(c, scores, false);
  // Without a transformation the scores of the two classes add up to 1.
  if (!c.failed()) results[1] = Value(c.concatenate({c.subtract(c.scalar(1, c.dtype(scores)), scores), scores}, 1));
  return results;
}

}  // namespace relay::onnx::ml
