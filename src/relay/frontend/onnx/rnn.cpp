// Recurrent networks: LSTM, GRU and RNN, whose steps along a sequence become a recursive function.
#include "relay/frontend/common/steps.h"
#include "relay/frontend/onnx/convert.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::convert {

using ir::Dims;
using ir::Expr;
using ir::Exprs;

namespace {

struct Activation {
  std::string name;
  double alpha = 0, beta = 0;
};

// What the model says of all directions.
struct Network {
  int64_t gates = 1, hidden = 0;
  std::vector<std::string> directions;  // "forward", "reverse"
  std::vector<Activation> activations;  // those of one direction after those of another
  bool batch_first = false;
  double clip = 0;  // 0: none
};

Expr activate(Convert& c, const Activation& a, const Expr& x) {
  if (a.name == "Sigmoid") return c.emit("sigmoid", {x});
  if (a.name == "Tanh") return c.emit("tanh", {x});
  if (a.name == "Relu") return c.emit("nn.relu", {x});
  if (a.name == "LeakyRelu") return c.emit("nn.leaky_relu", {x}, {{"alpha", a.alpha}});
  if (a.name == "Affine") return c.add(c.multiply(x, a.alpha), a.beta);
  if (a.name == "ScaledTanh") return c.multiply(c.emit("tanh", {c.multiply(x, a.beta)}), a.alpha);
  if (a.name == "HardSigmoid")
    return c.emit("clip", {c.add(c.multiply(x, a.alpha), a.beta)}, {{"a_min", 0.0}, {"a_max", 1.0}});
  if (a.name == "Softsign") return c.divide(x, c.add(c.emit("abs", {x}), 1));
  if (a.name == "Elu") {
    Expr below = c.emit("minimum", {x, c.scalar(0, c.dtype(x))});
    return c.add(c.emit("nn.relu", {x}), c.multiply(c.add(c.emit("exp", {below}), -1), a.alpha));
  }
  return c.unsupported("activation '{}'", a.name);
}

std::optional<Network> read_network(Convert& c, int64_t gates, const std::vector<std::string>& activations) {
  Network n;
  n.gates = gates, n.hidden = c.integer("hidden_size", c.extent(c.input(2), 2).value_or(0));
  n.batch_first = c.integer("layout", 0) != 0, n.clip = c.real("clip", 0);
  const std::string direction = c.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return c.bad("direction is '{}', not forward, reverse or bidirectional", direction);
  n.directions = direction == "bidirectional" ? std::vector<std::string>{"forward", "reverse"}
                                              : std::vector<std::string>{direction};
  std::vector<std::string> names;
  if (const Attribute* given = c.node.find("activations"))
    if (const std::vector<std::string_view>* list = std::get_if<std::vector<std::string_view>>(&given->value))
      names.assign(list->begin(), list->end());
  if (names.empty())
    for (size_t d = 0; d < n.directions.size(); ++d) names.insert(names.end(), activations.begin(), activations.end());
  if (names.size() != activations.size() * n.directions.size())
    return c.bad("activations has {} names for {} in {} directions", names.size(), activations.size(),
                 n.directions.size());
  // Parameters are listed for those activations only that have some.
  auto floats = [&](const char* name) {
    const Attribute* a = c.node.find(name);
    const std::vector<float>* list = a ? std::get_if<std::vector<float>>(&a->value) : nullptr;
    return list ? *list : std::vector<float>();
  };
  const std::vector<float> alphas = floats("activation_alpha"), betas = floats("activation_beta");
  size_t alpha = 0, beta = 0;
  auto next = [](const std::vector<float>& list, size_t& at, double otherwise) {
    return at < list.size() ? static_cast<double>(list[at++]) : otherwise;
  };
  for (const std::string& name : names) {
    Activation a{name};
    if (name == "LeakyRelu") a.alpha = next(alphas, alpha, 0.01);
    if (name == "Elu") a.alpha = next(alphas, alpha, 1);
    if (name == "HardSigmoid") a.alpha = next(alphas, alpha, 0.2), a.beta = next(betas, beta, 0.5);
    if (name == "Affine") a.alpha = next(alphas, alpha, 1), a.beta = next(betas, beta, 0);
    if (name == "ScaledTanh") a.alpha = next(alphas, alpha, 1), a.beta = next(betas, beta, 1);
    n.activations.push_back(a);
  }
  return n;
}

// One direction of a network, with the tensors of its own.
struct Direction {
  Expr input, weight, recurrence;  // (T, N, I), (G * H, I), (G * H, H)
  Expr bias, recurrent_bias;       // (G * H,); null: none
  Expr lengths, peepholes;         // (N,), (3 * H,); null: none
  Exprs state;                     // (N, H) each
  const Activation* activations = nullptr;
  bool reverse = false;
};

Expr part(Convert& c, const Expr& e, int64_t axis, int64_t which, int64_t size) {
  return c.slice(e, axis, which * size, (which + 1) * size);
}

Expr clipped(Convert& c, const Network& n, const Expr& e) {
  return n.clip > 0 ? c.emit("clip", {e}, {{"a_min", -n.clip}, {"a_max", n.clip}}) : e;
}

// The new state from what the input gives to all gates (N, G * H) and the state before.
using Cell = Exprs (*)(Convert&, const Network&, const Direction&, const Expr& input, const Exprs& state);

Exprs lstm_cell(Convert& c, const Network& n, const Direction& d, const Expr& input, const Exprs& state) {
  Expr all = c.add(input, c.emit("nn.dense", {state[0], d.recurrence}));
  if (d.recurrent_bias) all = c.add(all, d.recurrent_bias);
  auto gate = [&](int64_t which, const Expr& cell, int64_t peephole, int activation) {
    Expr e = part(c, all, 1, which, n.hidden);
    if (d.peepholes && cell) e = c.add(e, c.multiply(cell, part(c, d.peepholes, 0, peephole, n.hidden)));
    return activate(c, d.activations[activation], clipped(c, n, e));
  };
  Expr in = gate(0, state[1], 0, 0), fresh = gate(3, nullptr, 0, 1);
  Expr forget = c.integer("input_forget", 0) ? c.subtract(c.scalar(1, c.dtype(in)), in) : gate(2, state[1], 2, 0);
  Expr cell = c.add(c.multiply(forget, state[1]), c.multiply(in, fresh));
  Expr out = gate(1, cell, 1, 0);
  return {c.multiply(out, activate(c, d.activations[2], cell)), cell};
}

Exprs gru_cell(Convert& c, const Network& n, const Direction& d, const Expr& input, const Exprs& state) {
  auto of_state = [&](const Expr& h, int64_t which) {
    Expr e = c.emit("nn.dense", {h, part(c, d.recurrence, 0, which, n.hidden)});
    return d.recurrent_bias ? c.add(e, part(c, d.recurrent_bias, 0, which, n.hidden)) : e;
  };
  auto gate = [&](int64_t which) {
    Expr e = c.add(part(c, input, 1, which, n.hidden), of_state(state[0], which));
    return activate(c, d.activations[0], clipped(c, n, e));
  };
  Expr update = gate(0), reset = gate(1);
  Expr before = c.integer("linear_before_reset", 0) ? c.multiply(reset, of_state(state[0], 2))
                                                    : of_state(c.multiply(reset, state[0]), 2);
  Expr fresh = activate(c, d.activations[1], clipped(c, n, c.add(part(c, input, 1, 2, n.hidden), before)));
  Expr kept = c.multiply(update, state[0]);
  return {c.add(c.multiply(c.subtract(c.scalar(1, c.dtype(update)), update), fresh), kept)};
}

Exprs rnn_cell(Convert& c, const Network& n, const Direction& d, const Expr& input, const Exprs& state) {
  Expr all = c.add(input, c.emit("nn.dense", {state[0], d.recurrence}));
  if (d.recurrent_bias) all = c.add(all, d.recurrent_bias);
  return {activate(c, d.activations[0], clipped(c, n, all))};
}

// Outputs of all steps (T, N, H), in the order of the sequence, and the last state.
std::optional<Stepped> run(Convert& c, const Network& n, const Direction& d, Cell cell) {
  const Dims shape = c.shape(d.input);
  // What the input gives is one product for all steps.
  Expr rows = c.reshape(d.input, {scalar::simplify(shape[0] * shape[1]), shape[2]});
  Expr given = c.emit("nn.dense", {rows, d.weight});
  if (d.bias && given) given = c.add(given, d.bias);
  given = c.reshape(given, {shape[0], shape[1], scalar::imm(n.gates * n.hidden)});
  if (!given) return std::nullopt;
  Captures outside(c);
  Direction held = d;
  for (Expr* e : {&held.recurrence, &held.recurrent_bias, &held.lengths, &held.peepholes, &given})
    *e = outside.hold(*e);
  Steps steps;
  steps.count = outside.hold(c.size_of(d.input, 0)), steps.size = shape[0], steps.state = d.state;
  std::optional<Stepped> all = repeat(c, steps, outside, [&](const Expr& index, const Exprs& state) {
    Expr at = d.reverse ? c.subtract(c.subtract(steps.count, c.integer_scalar(1)), index) : index;
    Step step;
    step.state = cell(c, n, held, c.emit("take", {given, at}, {{"axis", int64_t{0}}}), state);
    Expr output = step.state[0];
    if (held.lengths && output) {
      // Behind the end of a sequence the state stays, and the output is 0.
      Expr inside = c.expand(c.emit("less", {at, c.cast(held.lengths, DType::int64())}), 1);
      for (size_t i = 0; i < state.size(); ++i) step.state[i] = c.emit("where", {inside, step.state[i], state[i]});
      output = c.emit("where", {inside, output, c.scalar(0, c.dtype(output))});
    }
    step.outputs = {output};
    return std::optional(step);
  });
  if (all && d.reverse) all->outputs[0] = c.emit("reverse", {all->outputs[0]}, {{"axis", int64_t{0}}});
  return all;
}

// `d`-th of the directions of a tensor, along `axis`.
Expr of_direction(Convert& c, const Expr& e, size_t d, int64_t axis = 0) {
  return e ? c.squeeze(part(c, e, axis, static_cast<int64_t>(d), 1), axis) : e;
}

// Inputs X, W, R, B, sequence_lens and the state from input 5 on; `states` of them.
Values recurrent(Convert& c, const Network& n, size_t states, const Activation* activations, size_t per_direction,
                 Cell cell) {
  if (!c.expect_rank(c.input(0), 3, 3, "X") || !c.expect_rank(c.input(1), 3, 3, "W") ||
      !c.expect_rank(c.input(2), 3, 3, "R"))
    return {};
  if (n.hidden < 1 || c.extent(c.input(2), 2) != n.hidden)
    return c.bad("hidden_size is {}, but R is {}", n.hidden, ir::str(c.input(2)->type));
  Expr x = n.batch_first ? c.transpose(c.input(0), {1, 0, 2}) : c.input(0);
  Expr biases = c.has(3) ? c.input(3) : Expr();
  std::vector<Exprs> last(states);
  Exprs outputs;
  for (size_t i = 0; i < n.directions.size(); ++i) {
    Direction d;
    d.input = x, d.weight = of_direction(c, c.input(1), i), d.recurrence = of_direction(c, c.input(2), i);
    if (biases) {
      Expr both = of_direction(c, biases, i);
      d.bias = part(c, both, 0, 0, n.gates * n.hidden), d.recurrent_bias = part(c, both, 0, 1, n.gates * n.hidden);
    }
    if (c.has(4)) d.lengths = c.input(4);
    if (c.has(7)) d.peepholes = of_direction(c, c.input(7), i);
    for (size_t s = 0; s < states; ++s) {
      Expr given = c.has(5 + s) ? of_direction(c, c.input(5 + s), i, n.batch_first ? 1 : 0) : Expr();
      d.state.push_back(given ? given
                              : c.broadcast_to(c.scalar(0, c.dtype(x)), {c.shape(x)[1], scalar::imm(n.hidden)}));
    }
    d.activations = activations + i * per_direction, d.reverse = n.directions[i] == "reverse";
    std::optional<Stepped> all = run(c, n, d, cell);
    if (!all) return {};
    outputs.push_back(c.expand(all->outputs[0], 1));
    for (size_t s = 0; s < states; ++s) last[s].push_back(c.expand(all->state[s], 0));
  }
  Expr y = c.concatenate(outputs, 1);  // (T, directions, N, H)
  Values results{n.batch_first ? c.transpose(y, {2, 0, 1, 3}) : y};
  for (const Exprs& state : last) {
    Expr e = c.concatenate(state, 0);
    results.push_back(Value(n.batch_first ? c.transpose(e, {1, 0, 2}) : e));
  }
  return results;
}

Values recurrent(Convert& c, int64_t gates, const std::vector<std::string>& activations, size_t states, Cell cell) {
  std::optional<Network> n = read_network(c, gates, activations);
  return n ? recurrent(c, *n, states, n->activations.data(), activations.size(), cell) : Values();
}

}  // namespace

Values LSTM(Convert& c) { return recurrent(c, 4, {"Sigmoid", "Tanh", "Tanh"}, 2, lstm_cell); }
Values GRU(Convert& c) { return recurrent(c, 3, {"Sigmoid", "Tanh"}, 1, gru_cell); }
Values RNN(Convert& c) { return recurrent(c, 1, {"Tanh"}, 1, rnn_cell); }

}  // namespace relay::onnx::convert
