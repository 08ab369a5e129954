// Long short-term memory, in reals. Weights of integers are dequantised.
#include "relay/frontend/tflite/lstm.h"

#include <array>

#include "relay/frontend/common/ops/norm.h"
#include "relay/frontend/tflite/quantize.h"

namespace relay::tflite {

using ir::Expr;
using ir::Exprs;

namespace {

enum Part : uint8_t { In, Forget, Cell, Out };
constexpr size_t parts = 4;

using Four = std::array<Expr, parts>;

// The weights of a direction; absent ones are null.
struct Weights {
  Four x, h, extra, peephole, norm, bias;
  Expr projection, projection_bias;

  bool has_input_gate() const { return x[In] != nullptr; }  // otherwise it is 1 - the forget gate
};

Weights read_weights(Convert& c, const LstmPlaces& p) {
  auto one = [&](size_t i) { return real_input(c, i); };
  auto four = [&](size_t first) {
    Four all;
    for (size_t i = 0; i < parts; ++i) all[i] = one(first + i);
    return all;
  };
  Weights w{four(p.x),    four(p.h),    four(p.extra),     {},
            four(p.norm), four(p.bias), one(p.projection), one(p.projection_bias)};
  w.peephole = {one(p.peephole), one(p.peephole + 1), nullptr, one(p.peephole + 2)};
  return w;
}

// The same as variables that are computed before the first step.
Weights held(Weights w, Captures& outside) {
  for (Four* four : {&w.x, &w.h, &w.extra, &w.peephole, &w.norm, &w.bias})
    for (Expr& e : *four) e = outside.hold(e);
  w.projection = outside.hold(w.projection), w.projection_bias = outside.hold(w.projection_bias);
  return w;
}

bool are_whole(Convert& c, const Weights& w) {
  for (size_t i = w.has_input_gate() ? 0 : 1; i < parts; ++i)
    if (!w.x[i] || !w.h[i] || !w.bias[i]) {
      c.bad("a weight or bias of gate {} of 4 is absent", i);
      return false;
    }
  return !c.failed();
}

Expr clipped(Convert& c, const Expr& e, double most) {
  return most > 0 ? c.emit("clip", {e}, {{"a_min", -most}, {"a_max", most}}) : e;
}

// The states (output, cell) after a step.
Exprs step(Convert& c, const Weights& w, const Exprs& now, const Exprs& state) {
  const Expr &h = state[0], &cell = state[1];
  auto gate = [&](Part part, const Expr& seen) {
    Expr sum = c.add(product_with(c, now[0], w.x[part]), product_with(c, h, w.h[part]));
    if (now.size() > 1) sum = c.add(sum, product_with(c, now[1], w.extra[part]));
    if (w.peephole[part]) sum = c.add(sum, c.multiply(seen, w.peephole[part]));
    if (w.norm[part]) sum = c.multiply(standardised(c, sum, {1}, 1e-8), w.norm[part]);
    return c.add(sum, w.bias[part]);
  };
  auto sigmoid = [&](const Expr& e) { return c.emit("sigmoid", {e}); };
  const Expr forget = sigmoid(gate(Forget, cell)), fresh = c.activated(gate(Cell, cell));
  const Expr in = w.has_input_gate() ? sigmoid(gate(In, cell)) : c.subtract(c.scalar(1, DType::float32()), forget);
  const Expr next = clipped(c, c.add(c.multiply(forget, cell), c.multiply(in, fresh)), c.real("cell_clip", 0));
  Expr y = c.multiply(sigmoid(gate(Out, next)), c.activated(next));
  if (w.projection) {
    y = product_with(c, y, w.projection);
    if (w.projection_bias) y = c.add(y, w.projection_bias);
    y = clipped(c, y, c.real("proj_clip", 0));
  }
  return {y, next};
}

// nn.lstm has the plain form: tanh, no clips, no norms, no second input. Its gates are i, o, f, g. Without an input
// gate that is 1 - sigmoid(f) = sigmoid(-f).
bool is_plain(Convert& c, const Weights& w, const Exprs& xs) {
  const bool clips = c.real("cell_clip", 0) > 0 || (w.projection && c.real("proj_clip", 0) > 0);
  return c.integer("fused_activation_function", 0) == 4 && xs.size() == 1 && !clips && !w.norm[Forget] &&
         !w.projection_bias;
}

std::optional<Sequence> plain(Convert& c, const Weights& w, const Expr& x, const Exprs& state, bool reverse) {
  auto joined = [&](const Four& of, std::initializer_list<Part> order) {
    Exprs all;
    for (Part part : order)
      all.push_back(part == In && !w.has_input_gate() ? c.emit("negative", {of[Forget]}) : of[part]);
    return c.concatenate(all, 0);
  };
  const std::initializer_list<Part> gates{In, Out, Forget, Cell};
  const Expr bias = joined(w.bias, gates);
  Exprs weights{joined(w.x, gates), joined(w.h, gates), bias, c.emit("zeros_like", {bias})};
  if (w.peephole[Out]) weights.push_back(joined(w.peephole, {In, Out, Forget}));
  if (w.projection) weights.push_back(w.projection);
  const Expr all = c.emit("nn.lstm", {x, c.tuple(weights), c.tuple({c.expand(state[0], 0), c.expand(state[1], 0)})},
                          {{"direction", reverse ? "reverse" : "forward"},
                           {"peephole", w.peephole[Out] != nullptr},
                           {"projection", w.projection != nullptr}});
  if (!all) return std::nullopt;
  return Sequence{c.squeeze(c.get(all, 0), 1), {c.squeeze(c.get(all, 1), 0), c.squeeze(c.get(all, 2), 0)}};
}

// Outputs (T, N, units) of a direction over data (T, N, ..). Its states are variable tensors.
Expr direction(Convert& c, const Exprs& xs, const LstmPlaces& p, bool reverse) {
  if (c.is_quantized_input(0)) return integer_lstm(c, xs[0], p, reverse);
  const Weights w = read_weights(c, p);
  if (!are_whole(c, w)) return nullptr;
  const Exprs state{c.state(p.state), c.state(p.cell)};
  if (!state[0] || !state[1]) return nullptr;
  std::optional<Sequence> all;
  if (is_plain(c, w, xs)) {
    all = plain(c, w, xs[0], state, reverse);
  } else {
    Captures outside(c);
    const Weights inside = held(w, outside);
    all = through_steps(c, xs, state, reverse, outside,
                        [&](const Exprs& now, const Exprs& before) { return step(c, inside, now, before); });
  }
  if (!all) return nullptr;
  c.set_state(p.state, all->state[0]), c.set_state(p.cell, all->state[1]);
  return all->outputs;
}

constexpr LstmPlaces one_direction{1, 5, 9, 12, 16, 17, 18, 19, 20};

// The older form. Inputs: data, the last output, a weight (4 * units, in + units), a bias, the last cell. The gates are
// in, cell, forget, out. Both states are inputs and results.
Values basic(Convert& c) {
  if (c.is_quantized_input(0)) return c.unsupported("quantised data of the basic kernel");
  const Expr both = c.concatenate({c.input(0), c.input(1)}, 1);
  const Expr sums = c.add(product_with(c, both, real_input(c, 2)), real_input(c, 3));
  const std::optional<int64_t> width = c.extent(sums, 1);
  if (!width || *width % 4) return c.bad("the weight {} is not one of four gates", ir::str(c.input(2)->type));
  auto gate = [&](int64_t i, const char* op) {
    return c.emit(op, {c.slice(sums, 1, i * *width / 4, (i + 1) * *width / 4)});
  };
  const Expr cell = c.add(c.multiply(gate(0, "sigmoid"), gate(1, "tanh")), c.multiply(gate(2, "sigmoid"), c.input(4)));
  const Expr y = c.multiply(gate(3, "sigmoid"), c.emit("tanh", {cell}));
  if (c.input_entry(1).is_variable) c.set_state(1, y);
  if (c.input_entry(4).is_variable) c.set_state(4, cell);
  return {y, cell, both, sums};
}

}  // namespace

namespace convert {

// A single step.
Values LSTM(Convert& c) {
  if (!c.expect_rank(c.input(0), 2, 2, "the data")) return {};
  if (c.integer("kernel_type", 0) == 1) return basic(c);
  return {c.squeeze(direction(c, {c.expand(c.input(0), 0)}, one_direction, false), 0)};
}

Values UNIDIRECTIONAL_SEQUENCE_LSTM(Convert& c) {
  if (!c.expect_rank(c.input(0), 3, 3, "the data")) return {};
  if (c.flag("diagonal_recurrent_tensors")) return c.unsupported("diagonal_recurrent_tensors");
  return {by_time(c, direction(c, {by_time(c, c.input(0))}, one_direction, false))};
}

// Data of another network, input 39, has weights for both directions; without them it is the data backwards.
Values BIDIRECTIONAL_SEQUENCE_LSTM(Convert& c) {
  if (!c.expect_rank(c.input(0), 3, 3, "the data")) return {};
  if (c.is_quantized_input(0)) return c.unsupported("quantised data");
  const bool weighs = c.has(41);
  const Expr x = by_time(c, c.input(0)), other = c.has(39) ? by_time(c, c.input(39)) : Expr();
  if (weighs && !other) return c.bad("input 39, whose weights are there, is absent");
  Exprs forwards{x}, backwards{other && !weighs ? other : x};
  if (weighs) forwards.push_back(other), backwards.push_back(other);
  LstmPlaces first{1, 5, 9, 12, 16, 17, 35, 36}, second{18, 22, 26, 29, 33, 34, 37, 38};
  if (weighs) first.extra = 40, second.extra = 44;
  const Expr y = by_time(c, direction(c, forwards, first, false));
  const Expr z = by_time(c, direction(c, backwards, second, true));
  if (c.flag("merge_outputs")) return {c.concatenate({y, z}, 2)};
  return {y, z};
}

}  // namespace convert
}  // namespace relay::tflite
