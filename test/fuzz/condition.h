// The condition of a program: how far its results move if its numbers change by one unit in the last place.
//
//   std::vector<double> most = movements(module, arguments, random);
//
// A sum of terms that cancel is small, and its rounding error is relative to the magnitudes of the terms. Another order
// of the same sum is as exact, but differs by more than a few units in the last place of the result.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "relay/eval/eval.h"
#include "relay/ir/rewrite.h"

namespace relay::fuzz {

// The tensors of a tuple, in order; of other values none.
inline std::vector<Tensor> tensors_of(const eval::Value& v) {
  if (!v.node) return {v.tensor};
  std::vector<Tensor> out;
  if (const eval::TupleValue* t = eval::as_tuple(v))
    for (const eval::Value& field : t->fields)
      for (Tensor& one : tensors_of(field)) out.push_back(std::move(one));
  return out;
}

// A float32 tensor whose numbers are the next ones up or down, or as they were.
inline Tensor moved(const Tensor& t, std::mt19937_64& random) {
  Tensor out = Tensor::empty(t.shape(), t.dtype());
  for (int64_t i = 0; i < t.elements(); ++i) {
    const float v = static_cast<float>(t.at(i));
    const int step = std::uniform_int_distribution<int>(-1, 1)(random);
    out.set(i, static_cast<double>(step == 0 ? v : std::nextafter(v, static_cast<float>(step) * INFINITY)));
  }
  return out;
}

// For each tensor of @main's result, the most that an element of the exact result, in float64, moves in eight trials
// in which all float32 inputs and constants move by at most one unit in the last place, or by which it differs from the
// result in float32: values inside of a program may be rounded more coarsely than its inputs. Empty if a trial fails.
inline std::vector<double> movements(const ir::Module& module, const eval::Values& arguments, std::mt19937_64& random) {
  const eval::EvalOptions exact{.float64 = true, .threads = 1};
  const Result<eval::Value> still = eval::run(module, "main", arguments, exact);
  if (!still) return {};
  const std::vector<Tensor> from = tensors_of(*still);
  std::vector<double> most(from.size());
  auto add = [&](const std::vector<Tensor>& to) {
    for (size_t k = 0; k < from.size(); ++k)
      for (int64_t i = 0; i < from[k].elements(); ++i)
        if (const double off = std::abs(from[k].at(i) - to[k].at(i)); std::isfinite(off))
          most[k] = std::max(most[k], off);
  };
  const Result<eval::Value> rounded = eval::run(module, "main", arguments, {.threads = 1});
  if (!rounded) return {};
  add(tensors_of(*rounded));
  for (int trial = 0; trial < 8; ++trial) {
    ir::Module other = module;
    for (auto& [name, f] : other.functions)
      f = ir::FunctionRef(
          ir::as<ir::Function>(ir::rewrite(ir::Expr(f), [&](const ir::Expr&, const ir::Expr& now) -> ir::Expr {
            const ir::Constant* c = ir::as<ir::Constant>(now);
            if (!c || c->value.dtype() != DType::float32()) return now;
            ir::Expr made = ir::constant(moved(c->value, random));
            made->type = now->type;
            return made;
          })));
    eval::Values inputs;
    for (const eval::Value& v : arguments)
      inputs.push_back(!v.node && v.tensor.dtype() == DType::float32() ? eval::Value(moved(v.tensor, random)) : v);
    const Result<eval::Value> there = eval::run(other, "main", inputs, exact);
    if (!there) return {};
    add(tensors_of(*there));
  }
  return most;
}

}  // namespace relay::fuzz
