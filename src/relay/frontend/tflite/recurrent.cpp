// Recurrent networks of one gate, and SVDF, a matrix of low rank over the last inputs.
#include "relay/frontend/tflite/recurrent.h"

#include "relay/frontend/tflite/quantize.h"

namespace relay::tflite {

using ir::Expr;
using ir::Exprs;

Expr real_input(Convert& c, size_t i) {
  if (!c.has(i)) return nullptr;
  return c.is_quantized_input(i) ? dequantized(c, c.input(i), c.input_entry(i)) : c.input(i);
}

Expr by_time(Convert& c, const Expr& e) { return c.flag("time_major") ? e : c.transpose(e, {1, 0, 2}); }

Expr product_with(Convert& c, const Expr& x, const Expr& weight) { return c.emit("nn.dense", {x, weight}); }

std::optional<Sequence> through_steps(Convert& c, const Exprs& xs, const Exprs& state, bool reverse, Captures& outside,
                                      function_ref<Exprs(const Exprs& xs, const Exprs& state)> step) {
  Exprs held;
  for (const Expr& x : xs) held.push_back(outside.hold(reverse ? c.emit("reverse", {x}, {{"axis", int64_t{0}}}) : x));
  Steps steps{.count = c.size_of(held[0], 0), .size = c.shape(held[0])[0], .condition = {}, .state = state};
  std::optional<Stepped> all =
      repeat(c, steps, outside, [&](const Expr& index, const Exprs& before) -> std::optional<Step> {
        Exprs now;
        for (const Expr& x : held) now.push_back(c.emit("take", {x, index}, {{"axis", int64_t{0}}, {"mode", "clip"}}));
        Exprs after = step(now, before);
        if (after.empty() || !after[0]) return std::nullopt;
        return Step{.condition = {}, .state = after, .outputs = {after[0]}};
      });
  if (!all) return std::nullopt;
  const Expr outputs = all->outputs[0];
  return Sequence{reverse ? c.emit("reverse", {outputs}, {{"axis", int64_t{0}}}) : outputs, all->state};
}

namespace {

// A network of one gate: its places among the inputs; `extra` is that of weights for the auxiliary input, or 0.
struct Gate {
  size_t weight, recurrence, bias, state, extra;
};

// The first state of an output is that of the variable tensor; the last one is assigned to it.
Expr one_gate(Convert& c, const Exprs& xs, const Gate& g, bool reverse) {
  if (c.is_quantized_input(0)) return c.unsupported("quantised data");
  Captures outside(c);
  auto weight = [&](size_t i) { return outside.hold(real_input(c, i)); };
  const Expr w = weight(g.weight), r = weight(g.recurrence), bias = weight(g.bias);
  const Expr more = xs.size() > 1 ? weight(g.extra) : Expr();
  const Expr before = c.state(g.state);
  if (!w || !r || !bias || !before) return nullptr;
  auto step = [&](const Exprs& now, const Exprs& state) -> Exprs {
    Expr sum = c.add(c.add(product_with(c, now[0], w), product_with(c, state[0], r)), bias);
    if (now.size() > 1) sum = c.add(sum, product_with(c, now[1], more));
    return {c.activated(sum)};
  };
  std::optional<Sequence> all = through_steps(c, xs, {before}, reverse, outside, step);
  if (!all) return nullptr;
  c.set_state(g.state, all->state[0]);
  return all->outputs;
}

}  // namespace

namespace convert {

// A single step. Inputs: data (N, in), a weight (units, in), one for the last output (units, units), a bias, the last
// output.
Values RNN(Convert& c) {
  if (!c.expect_rank(c.input(0), 2, 2, "the data")) return {};
  const Expr y = one_gate(c, {c.expand(c.input(0), 0)}, {1, 2, 3, 4, 0}, false);
  return {c.squeeze(y, 0)};
}

Values UNIDIRECTIONAL_SEQUENCE_RNN(Convert& c) {
  if (!c.expect_rank(c.input(0), 3, 3, "the data")) return {};
  return {by_time(c, one_gate(c, {by_time(c, c.input(0))}, {1, 2, 3, 4, 0}, false))};
}

// Inputs: data, 4 inputs forwards, 4 backwards, and data of another network with weights for both directions. Without
// those weights it is the data of the direction backwards.
Values BIDIRECTIONAL_SEQUENCE_RNN(Convert& c) {
  if (!c.expect_rank(c.input(0), 3, 3, "the data")) return {};
  const bool weighs = c.has(10);
  if (weighs && (!c.has(9) || !c.has(11))) return c.bad("one of the inputs 9 to 11 is absent, but others are there");
  const Expr x = by_time(c, c.input(0)), other = c.has(9) ? by_time(c, c.input(9)) : Expr();
  Exprs forwards{x}, backwards{other && !weighs ? other : x};
  if (weighs) forwards.push_back(other), backwards.push_back(other);
  const Expr y = by_time(c, one_gate(c, forwards, {1, 2, 3, 4, 10}, false));
  const Expr z = by_time(c, one_gate(c, backwards, {5, 6, 7, 8, 11}, true));
  if (c.flag("merge_outputs")) return {c.concatenate({y, z}, 2)};
  return {y, z};
}

// Inputs: data (N, in), a weight (filters, in), a weight of the last results (filters, memory), a bias (units,) or
// none, and those results (N, filters * memory). A unit is the sum of `rank` filters.
Values SVDF(Convert& c) {
  const Expr x = c.input(0);
  const std::optional<int64_t> batch = c.extent(x, 0), filters = c.extent(c.input(1), 0),
                               memory = c.extent(c.input(2), 1);
  const int64_t rank = c.integer("rank", 1);
  if (!c.expect_rank(x, 2, 2, "the data") || !c.expect_rank(c.input(1), 2, 2, "the weight of features") ||
      !c.expect_rank(c.input(2), 2, 2, "the weight of times"))
    return {};
  if (!batch || !filters || !memory) return c.unsized("data and weights need fixed sizes");
  if (rank < 1 || *filters % rank || *memory < 1) return c.bad("rank {} of {} filters", rank, *filters);
  Expr state = c.state(4);
  const ir::Dims shape{scalar::imm(*batch), scalar::imm(*filters), scalar::imm(*memory)};
  state = c.reshape(state, shape);
  const bool in_integers = c.is_quantized_input(0);
  const Expr fresh = in_integers ? quantized_features(c) : product_with(c, x, real_input(c, 1));
  if (!fresh || !state) return {};
  const Expr kept = c.concatenate({c.slice(state, 2, 0, *memory - 1), c.expand(fresh, 2)}, 2);
  const ir::Dims by_unit{scalar::imm(*batch), scalar::imm(*filters / rank), scalar::imm(rank * *memory)};
  auto sum = [&](const Expr& values, const Expr& weight) {
    return c.reduce("sum", c.reshape(c.multiply(values, c.expand(weight, 0)), by_unit), {2}, false);
  };
  const Expr zero =
      c.broadcast_to(c.scalar(0, c.dtype(kept)), {scalar::imm(*batch), scalar::imm(*filters), scalar::imm(1)});
  const Expr shifted = c.concatenate({c.slice(kept, 2, 1, INT32_MAX), zero}, 2);
  c.set_state(4, c.reshape(shifted, {scalar::imm(*batch), scalar::imm(*filters * *memory)}));
  if (in_integers) return {quantized_units(c, sum(c.cast(kept, DType::int32()), c.cast(c.input(2), DType::int32())))};
  Expr units = sum(kept, real_input(c, 2));
  if (c.has(3)) units = c.add(units, c.input(3));
  return {c.activated(units)};
}

}  // namespace convert
}  // namespace relay::tflite
