// Compares gradients with finite differences in double precision, for the tests of the pass and of operators
// (test/ops).
#pragma once

#include <cmath>
#include <random>

#include "relay/eval/eval.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using eval::Value;
using eval::Values;

inline constexpr eval::EvalOptions precise{.float64 = true};

inline Tensor in_double(const Tensor& t, const std::function<double(int64_t)>& value) {
  Tensor out = Tensor::empty(t.shape(), DType::float64());
  for (int64_t i = 0; i < t.elements(); ++i) out.set(i, value(i));
  return out;
}
inline Tensor drawn_like(const Tensor& t, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> of(-1, 1);
  return in_double(t, [&](int64_t) { return of(random); });
}
inline Tensor moved(const Tensor& t, const Tensor& along, double by) {
  return in_double(t, [&](int64_t i) { return t.at(i) + by * along.at(i); });
}

// The tensors of a value, flattened.
inline std::vector<Value> flat_values(const Value& v) {
  const eval::TupleValue* t = eval::as_tuple(v);
  if (!t) return {v};
  std::vector<Value> out;
  for (const Value& field : t->fields)
    for (const Value& inner : flat_values(field)) out.push_back(inner);
  return out;
}
// A value of the same structure: f(tensor, its index) for floats, zeros for others.
inline Value like(const Value& v, uint64_t* seed) {
  if (const eval::TupleValue* t = eval::as_tuple(v)) {
    Values fields;
    for (const Value& field : t->fields) fields.push_back(like(field, seed));
    return eval::tuple_value(std::move(fields));
  }
  if (!v.dtype.is_float()) return Value(Tensor::full(v.tensor.shape(), v.dtype, 0));
  return Value(drawn_like(v.tensor, ++*seed), v.dtype);
}
inline double product(const Value& a, const Value& b) {
  const std::vector<Value> x = flat_values(a), y = flat_values(b);
  double sum = 0;
  for (size_t k = 0; k < x.size(); ++k)
    for (int64_t i = 0; x[k].dtype.is_float() && i < x[k].tensor.elements(); ++i)
      sum += x[k].tensor.at(i) * y[k].tensor.at(i);
  return sum;
}

// A random initial gradient of the result for `args`.
inline Value seed_of(const ir::Module& module, const Values& args) {
  uint64_t draw = 7;
  const Result<Value> result = eval::run(module, "main", args, precise);
  RELAY_CHECK(result, "{}", render(result.errors()));
  return like(*result, &draw);
}

// For each float argument, compares the derivative along a random direction computed from the gradient with that from
// two values. Only the first `count` arguments. Returns the problem found, or "".
inline std::string gradient_problem(const ir::Module& plain, const ir::Module& gradient, const Values& args,
                                    size_t count = SIZE_MAX) {
  auto evaluated = [](const ir::Module& module, const Values& values) {
    return eval::run(module, "main", values, precise);
  };
  uint64_t draw = 7;
  const Result<Value> result = evaluated(plain, args);
  if (!result) return render(result.errors());
  const Value seed = like(*result, &draw);
  Values with_seed = args;
  with_seed.push_back(seed);
  const Result<Value> both = evaluated(gradient, with_seed);
  if (!both) return render(both.errors());
  const double along = product(*result, seed), value = product(eval::as_tuple(*both)->fields[0], seed);
  // In some operators a mean multiplies by a reciprocal rounded to float32; in their definitions it divides.
  if (!(std::abs(value - along) <= 1e-7 * (1 + std::abs(along))))
    return format("the value is {}, not {}", value, along);
  const Values gradients = eval::as_tuple(eval::as_tuple(*both)->fields[1])->fields;
  if (gradients.size() != args.size()) return format("{} gradients of {} arguments", gradients.size(), args.size());
  for (size_t i = 0; i < std::min(count, args.size()); ++i) {
    if (!args[i].tensor || !args[i].dtype.is_float()) continue;
    if (gradients[i].tensor.shape() != args[i].tensor.shape()) return format("argument {}: another shape", i);
    const Tensor direction = drawn_like(args[i].tensor, ++draw);
    constexpr double step = 1e-6;
    Values ahead = args, behind = args;
    ahead[i] = Value(moved(args[i].tensor, direction, step), args[i].dtype);
    behind[i] = Value(moved(args[i].tensor, direction, -step), args[i].dtype);
    const Result<Value> right = evaluated(plain, ahead), left = evaluated(plain, behind);
    if (!right || !left) return render((right ? left : right).errors());
    const double numeric = (product(*right, seed) - product(*left, seed)) / (2 * step);
    const double got = product(gradients[i], Value(direction, args[i].dtype));
    // A value is accurate to 1e-16 relative to its size, so a difference is accurate to 1e-10 of it.
    const double size = std::abs(product(*result, *result)) + std::abs(product(seed, seed));
    if (!(std::abs(got - numeric) <= 2e-5 * std::abs(numeric) + 1e-7 * (1 + size)))
      return format("argument {}: {} along a direction, but differences give {}", i, got, numeric);
  }
  return {};
}

inline Result<ir::Module> differentiated(const ir::Module& module) {
  PassContext context;
  context.verify = true;
  context.options["gradient.seed"] = int64_t{1};
  return run_passes(module, {"gradient"}, context);
}

}  // namespace relay::transform
