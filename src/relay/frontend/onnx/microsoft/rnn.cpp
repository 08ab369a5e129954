// LSTM with weights of integers, whose inputs are quantised at run time.
#include "relay/frontend/common/ops/quantise.h"
#include "relay/frontend/common/steps.h"
#include "relay/frontend/onnx/microsoft/shared.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::microsoft {

using ir::Dims;
using ir::Expr;
using ir::Exprs;

namespace {

// Weights of integers of one direction, (rows, 4 * hidden), with scale and zero point of all or of each column.
struct Weight {
  Expr values, scale, zero;
};

struct Direction {
  Weight weight, recurrence;
  Expr bias, peepholes;  // (8 * hidden,), (3 * hidden,); null if absent
  Exprs state;           // hidden state and cell, (N, hidden)
  bool reverse;
};

// Part `d` of the first axis, which is removed.
Expr of_direction(Convert& c, const Expr& e, int64_t d) { return c.squeeze(c.slice(e, 0, d, d + 1), 0); }

Weight weight_of(Convert& c, size_t values, size_t scale, int64_t d) {
  // A number per direction: (directions,), else one per column: (directions, 4 * hidden).
  return {of_direction(c, c.input(values), d), of_direction(c, c.input(scale), d),
          of_direction(c, c.input(scale + 1), d)};
}

// Rows of reals, quantised by their own range, times a weight of integers.
Expr product(Convert& c, const Expr& rows, const Weight& w) {
  DynamicallyQuantised x = dynamically_quantised(c, rows);
  return real_product(c, x.values, x.zero, x.scale, w.values, w.zero, w.scale, nullptr);
}

Exprs cell(Convert& c, const Direction& d, const Expr& projected, const Exprs& before, int64_t hidden) {
  auto part = [&](const Expr& e, int64_t axis, int64_t which) {
    return c.slice(e, axis, which * hidden, (which + 1) * hidden);
  };
  Expr all = c.add(projected, product(c, before[0], d.recurrence));
  auto gate = [&](int64_t which, const Expr& state, int64_t peephole) {
    Expr e = part(all, 1, which);
    return d.peepholes && state ? c.add(e, c.multiply(state, part(d.peepholes, 0, peephole))) : e;
  };
  Expr in = c.emit("sigmoid", {gate(0, before[1], 0)}), forget = c.emit("sigmoid", {gate(2, before[1], 2)}),
       fresh = c.emit("tanh", {gate(3, nullptr, 0)});
  Expr next = c.add(c.multiply(forget, before[1]), c.multiply(in, fresh));
  return {c.multiply(c.emit("sigmoid", {gate(1, next, 1)}), c.emit("tanh", {next})), next};
}

// Outputs of all steps (T, N, hidden) in the order of the sequence, and the last state.
std::optional<Stepped> run(Convert& c, const Direction& d, const Expr& x, int64_t hidden) {
  const Dims shape = c.shape(x);
  Expr projected = product(c, c.reshape(x, {scalar::simplify(shape[0] * shape[1]), shape[2]}), d.weight);
  if (d.bias && projected)
    projected = c.add(projected, c.add(c.slice(d.bias, 0, 0, 4 * hidden), c.slice(d.bias, 0, 4 * hidden, 8 * hidden)));
  projected = c.reshape(projected, {shape[0], shape[1], scalar::imm(4 * hidden)});
  if (!projected) return std::nullopt;
  Captures outside(c);
  Direction held = d;
  for (Expr* e : {&held.recurrence.values, &held.recurrence.scale, &held.recurrence.zero, &held.peepholes, &projected})
    *e = outside.hold(*e);
  Expr lengths = c.has(4) ? outside.hold(c.cast(c.input(4), DType::int64())) : Expr();
  Steps steps;
  steps.count = outside.hold(c.size_of(x, 0)), steps.size = shape[0], steps.state = d.state;
  std::optional<Stepped> all = repeat(c, steps, outside, [&](const Expr& index, const Exprs& before) {
    Expr at = d.reverse ? c.subtract(c.subtract(steps.count, c.integer_scalar(1)), index) : index;
    Step step;
    step.state = cell(c, held, c.emit("take", {projected, at}, {{"axis", int64_t{0}}}), before, hidden);
    Expr output = step.state[0];
    if (lengths && output) {
      Expr inside = c.expand(c.emit("less", {at, lengths}), 1);
      for (size_t i = 0; i < 2; ++i) step.state[i] = c.emit("where", {inside, step.state[i], before[i]});
      output = c.emit("where", {inside, output, c.scalar(0, c.dtype(output))});
    }
    step.outputs = {output};
    return std::optional(step);
  });
  if (all && d.reverse) all->outputs[0] = c.emit("reverse", {all->outputs[0]}, {{"axis", int64_t{0}}});
  return all;
}

// True if the node's cells are the ordinary ones.
bool is_ordinary(Convert& c) {
  if (const auto* names = c.value_of<std::vector<std::string_view>>("activations"))
    for (size_t i = 0; i < names->size(); ++i)
      if ((*names)[i] != (i % 3 == 0 ? "Sigmoid" : "Tanh")) return c.unsupported("activation '{}'", (*names)[i]), false;
  if (c.integer("input_forget", 0)) return c.unsupported("input_forget is 1"), false;
  if (c.real("clip", 0) > 0) return c.unsupported("clip is {}", c.real("clip", 0)), false;
  return true;
}

}  // namespace

Values DynamicQuantizeLSTM(Convert& c) {
  if (!c.has(8) || !c.has(9) || !c.has(10) || !c.has(11)) return c.bad("a scale or zero point of W or R is missing");
  Expr x = c.input(0);
  const std::string direction = c.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return c.bad("direction is '{}', not forward, reverse or bidirectional", direction);
  for (size_t i = 0; i < 3; ++i)
    if (!c.expect_rank(c.input(i), 3, 3, i == 0 ? "X" : i == 1 ? "W" : "R")) return {};
  if (!is_ordinary(c)) return {};
  const int64_t hidden = c.integer("hidden_size", c.extent(c.input(2), 1).value_or(0));
  if (hidden < 1 || hidden > INT32_MAX || c.extent(c.input(2), 1) != hidden || c.extent(c.input(1), 2) != 4 * hidden)
    return c.bad("hidden_size is {}, but W is {} and R {}", hidden, ir::str(c.input(1)->type),
                 ir::str(c.input(2)->type));
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  Exprs outputs, last[2];
  for (int64_t i = 0; i < directions; ++i) {
    auto optional = [&](size_t input) { return c.has(input) ? of_direction(c, c.input(input), i) : Expr(); };
    Direction d{weight_of(c, 1, 8, i), weight_of(c, 2, 10, i), optional(3), optional(7), {}, false};
    d.reverse = direction == "reverse" || i == 1;
    for (size_t s = 0; s < 2; ++s) {
      Expr initial = optional(5 + s);
      d.state.push_back(initial ? initial
                                : c.broadcast_to(c.scalar(0, c.dtype(x)), {c.shape(x)[1], scalar::imm(hidden)}));
    }
    std::optional<Stepped> all = run(c, d, x, hidden);
    if (!all) return {};
    outputs.push_back(c.expand(all->outputs[0], 1));
    for (size_t s = 0; s < 2; ++s) last[s].push_back(c.expand(all->state[s], 0));
  }
  return {c.concatenate(outputs, 1), c.concatenate(last[0], 0), c.concatenate(last[1], 0)};
}

}  // namespace relay::onnx::microsoft
