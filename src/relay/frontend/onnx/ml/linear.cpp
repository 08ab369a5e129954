// Linear models, and sums over support vectors.
#include "relay/frontend/onnx/ml/scores.h"

namespace relay::onnx::ml {

using ir::Expr;

namespace {

// x times coefficients (rows, features), plus one intercept a row.
Expr linear(Convert& c, int64_t rows) {
  Expr x = samples(c);
  const std::vector<double> weights = numbers(c, "coefficients"), intercepts = numbers(c, "intercepts");
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
  const size_t intercepts = numbers(c, "intercepts").size(), labels = c.ints("classlabels_ints").size();
  const auto* names = c.value_of<std::vector<std::string_view>>("classlabels_strings");
  const size_t classes = std::max(labels, names ? names->size() : 0);
  const int64_t rows = static_cast<int64_t>(intercepts ? intercepts : std::max<size_t>(classes, 1));
  Expr scores = linear(c, rows);
  if (!scores) return {};
  if (rows > 1 || c.text("post_transform", "NONE") == "LOGISTIC") return classified(c, scores, false);
  Values results = classified(c, scores, false);
  // Without a transformation the scores of the two classes add up to 1.
  if (!c.failed()) results[1] = Value(c.concatenate({c.subtract(c.scalar(1, c.dtype(scores)), scores), scores}, 1));
  return results;
}

// The sum of coefficients times kernels of x and the support vectors, plus rho; without vectors a linear model.
Values SVMRegressor(Convert& c) {
  Expr x = samples(c);
  const std::vector<double> weights = numbers(c, "coefficients"), vectors = numbers(c, "support_vectors"),
                            params = numbers(c, "kernel_params"), rho = numbers(c, "rho");
  if (!x) return {};
  x = c.cast(x, DType::float32());
  const int64_t supports = c.integer("n_supports", 0), count = static_cast<int64_t>(weights.size());
  if (weights.empty() || rho.empty()) return c.bad("coefficients or rho are missing");
  if (supports < 0 || (supports > 0 && (count != supports || vectors.size() % weights.size() != 0)))
    return c.bad("n_supports is {}, for {} coefficients and {} numbers of vectors", supports, count, vectors.size());
  Expr kernel = x;
  if (supports > 0) {
    const int64_t features = static_cast<int64_t>(vectors.size()) / supports;
    const double gamma = params.size() > 0 ? params[0] : 0, shift = params.size() > 1 ? params[1] : 0,
                 degree = params.size() > 2 ? params[2] : 0;
    Expr all = floats(c, vectors, {supports, features}, DType::float32());
    const std::string how = c.text("kernel_type", "LINEAR");
    if (how == "RBF") {
      // Differences first: the squares of lengths would lose what little two vectors differ by.
      Expr difference = c.subtract(c.expand(x, 1), all);
      kernel = c.emit("exp", {c.multiply(c.reduce("sum", c.multiply(difference, difference), {2}, false), -gamma)});
    } else {
      kernel = c.emit("nn.dense", {x, all});
      if (how != "LINEAR") kernel = c.add(c.multiply(kernel, gamma), shift);
      if (how == "POLY") kernel = c.emit("power", {kernel, c.scalar(degree, DType::float32())});
      if (how == "SIGMOID") kernel = c.emit("tanh", {kernel});
      if (how != "LINEAR" && how != "POLY" && how != "SIGMOID")
        return c.bad("kernel_type is '{}', not LINEAR, POLY, RBF or SIGMOID", how);
    }
  }
  Expr scores = c.add(c.emit("nn.dense", {kernel, floats(c, weights, {1, count}, DType::float32())}), rho[0]);
  if (c.integer("one_class", 0)) {
    Expr inside = c.emit("greater", {scores, c.scalar(0, DType::float32())});
    return {c.emit("where", {inside, c.scalar(1, DType::float32()), c.scalar(-1, DType::float32())})};
  }
  return {transformed(c, scores)};
}

}  // namespace relay::onnx::ml
