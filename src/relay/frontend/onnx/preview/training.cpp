// Optimisers: one step of training. Inputs: the learning rate, the number of the step, then for all tensors the values,
// the gradients, and the optimiser's states of each.
#include "relay/frontend/onnx/convert.h"

namespace relay::onnx::preview {

using ir::Expr;

namespace {

struct Step {
  Expr rate, number;               // the number as a float
  std::vector<ir::Exprs> tensors;  // for each: value, gradient, states
};

std::optional<Step> read(Convert& c, size_t states) {
  const size_t each = states + 2;
  if (c.inputs() < 2 + each || (c.inputs() - 2) % each != 0)
    return c.bad("it has {} inputs; two and {} for each tensor are needed", c.inputs(), each);
  const size_t count = (c.inputs() - 2) / each;
  ir::Exprs all = c.all_inputs();
  if (c.failed()) return std::nullopt;
  Step step{all[0], c.cast(all[1], c.dtype(all[0])), {}};
  for (size_t i = 0; i < count; ++i) {
    ir::Exprs tensor;
    for (size_t k = 0; k < each; ++k) tensor.push_back(all[2 + k * count + i]);
    // Adds the gradient of weight decay to that of the model.
    tensor[1] = c.add(c.multiply(tensor[0], c.real("norm_coefficient", 0)), tensor[1]);
    step.tensors.push_back(std::move(tensor));
  }
  return step;
}

// All new values, then all first states, and so on.
Values in_order(const std::vector<ir::Exprs>& results) {
  Values all;
  for (size_t k = 0; k < results[0].size(); ++k)
    for (const ir::Exprs& one : results) all.push_back(Value(one[k]));
  return all;
}

Expr is_later(Convert& c, const Step& step) {
  return c.emit("greater", {step.number, c.scalar(0, c.dtype(step.number))});
}

}  // namespace

Values Adagrad(Convert& c) {
  std::optional<Step> step = read(c, 1);
  if (!step) return {};
  const DType dtype = c.dtype(step->rate);
  const Expr slower = c.add(c.multiply(step->number, c.real("decay_factor", 0)), 1);
  const Expr rate = c.divide(step->rate, c.cast(slower, dtype));
  std::vector<ir::Exprs> results;
  for (const ir::Exprs& t : step->tensors) {
    const Expr squares = c.add(t[2], c.multiply(t[1], t[1]));
    const Expr scale = c.add(c.emit("sqrt", {squares}), c.real("epsilon", 1e-6));
    results.push_back({c.subtract(t[0], c.divide(c.multiply(rate, t[1]), scale)), squares});
  }
  return in_order(results);
}

Values Adam(Convert& c) {
  std::optional<Step> step = read(c, 2);
  if (!step) return {};
  const DType dtype = c.dtype(step->rate);
  const double alpha = c.real("alpha", 0.9), beta = c.real("beta", 0.999);
  auto left = [&](double base) {
    return c.subtract(c.scalar(1, dtype), c.emit("power", {c.scalar(base, dtype), step->number}));
  };
  const Expr corrected = c.divide(c.multiply(step->rate, c.emit("sqrt", {left(beta)})), left(alpha));
  const Expr rate = c.emit("where", {is_later(c, *step), corrected, step->rate});
  std::vector<ir::Exprs> results;
  for (const ir::Exprs& t : step->tensors) {
    const Expr mean = c.add(c.multiply(t[2], alpha), c.multiply(t[1], 1 - alpha));
    const Expr squares = c.add(c.multiply(t[3], beta), c.multiply(c.multiply(t[1], t[1]), 1 - beta));
    const Expr scale = c.add(c.emit("sqrt", {squares}), c.real("epsilon", 1e-6));
    const Expr next = c.subtract(t[0], c.divide(c.multiply(rate, mean), scale));
    results.push_back({c.multiply(next, 1 - c.real("norm_coefficient_post", 0)), mean, squares});
  }
  return in_order(results);
}

Values Momentum(Convert& c) {
  std::optional<Step> step = read(c, 1);
  if (!step) return {};
  const DType dtype = c.dtype(step->rate);
  const std::string mode = c.text("mode", "standard");
  if (mode != "standard" && mode != "nesterov") return c.bad("mode is '{}', not standard or nesterov", mode);
  const double alpha = c.real("alpha", 0);
  const Expr beta = c.emit("where", {is_later(c, *step), c.scalar(c.real("beta", 0), dtype), c.scalar(1, dtype)});
  std::vector<ir::Exprs> results;
  for (const ir::Exprs& t : step->tensors) {
    const Expr speed = c.add(c.multiply(t[2], alpha), c.multiply(beta, t[1]));
    const Expr change = mode == "standard" ? speed : c.add(t[1], c.multiply(speed, alpha));
    results.push_back({c.subtract(t[0], c.multiply(step->rate, change)), speed});
  }
  return in_order(results);
}

}  // namespace relay::onnx::preview
