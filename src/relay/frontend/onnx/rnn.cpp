// Recurrent networks: LSTM, GRU and RNN, which are nn.lstm, nn.gru and nn.rnn.
#include "relay/frontend/onnx/computed.h"

namespace relay::onnx::convert {

using ir::Expr;
using ir::Exprs;

namespace {

struct Network {
  const char* op;
  int64_t gates;
  size_t states;
  std::vector<std::string> activations;  // of a direction, unless the model has others
};

// An activation in ONNX and in Relay, with its default parameters.
struct Activation {
  std::string_view onnx, relay;
  std::vector<double> parameters;
};

const std::vector<Activation>& known_activations() {
  static const std::vector<Activation> known = {{"Sigmoid", "sigmoid", {}},
                                                {"Tanh", "tanh", {}},
                                                {"Relu", "relu", {}},
                                                {"Softsign", "softsign", {}},
                                                {"Softplus", "softplus", {}},
                                                {"LeakyRelu", "leaky_relu", {0.01}},
                                                {"Elu", "elu", {1}},
                                                {"ThresholdedRelu", "thresholded_relu", {1}},
                                                {"HardSigmoid", "hard_sigmoid", {0.2, 0.5}},
                                                {"Affine", "affine", {1, 0}},
                                                {"ScaledTanh", "scaled_tanh", {1, 1}}};
  return known;
}

// "leaky_relu(0.01), tanh", or "" for those of the network. Parameters are listed only for activations that have some.
// Unset if a problem was reported.
std::optional<std::string> activations_of(Convert& c, const Network& n, size_t directions) {
  const std::vector<std::string_view>* names = c.value_of<std::vector<std::string_view>>("activations");
  if (!names || names->empty()) return "";
  if (names->size() != n.activations.size() * directions)
    return c.bad("activations has {} names for {} in {} directions", names->size(), n.activations.size(), directions);
  const std::vector<float>* values[] = {c.value_of<std::vector<float>>("activation_alpha"),
                                        c.value_of<std::vector<float>>("activation_beta")};
  size_t next[] = {0, 0};
  std::string out;
  for (std::string_view name : *names) {
    const Activation* known = nullptr;
    for (const Activation& a : known_activations())
      if (a.onnx == name) known = &a;
    if (!known) return c.unsupported("activation '{}'", name);
    std::string parameters;
    for (size_t p = 0; p < known->parameters.size(); ++p) {
      const bool listed = values[p] && next[p] < values[p]->size();
      const double value = listed ? static_cast<double>((*values[p])[next[p]++]) : known->parameters[p];
      parameters += format("{}{}", p ? ", " : "", value);
    }
    out += format("{}{}{}", out.empty() ? "" : ", ", known->relay, parameters.empty() ? "" : "(" + parameters + ")");
  }
  return out;
}

// Inputs X, W, R, B, sequence_lens, the states from input 5 on, and P.
Values recurrent(Convert& c, const Network& n, EmitAttrs attributes) {
  if (!c.expect_rank(c.input(0), 3, 3, "X") || !c.expect_rank(c.input(1), 3, 3, "W") ||
      !c.expect_rank(c.input(2), 3, 3, "R"))
    return {};
  const int64_t hidden = c.integer("hidden_size", c.extent(c.input(2), 2).value_or(0));
  if (hidden < 1 || c.extent(c.input(2), 2) != hidden)
    return c.bad("hidden_size is {}, but R is {}", hidden, ir::str(c.input(2)->type));
  const std::string direction = c.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return c.bad("direction is '{}', not forward, reverse or bidirectional", direction);
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  const std::optional<std::string> activations = activations_of(c, n, static_cast<size_t>(directions));
  if (!activations) return {};
  const bool batch_first = c.integer("layout", 0) != 0, peephole = c.has(7);

  auto of_direction = [&](size_t input, int64_t d) { return c.squeeze(c.slice(c.input(input), 0, d, d + 1), 0); };
  auto halves = [&](const Expr& e, Exprs& to) {
    for (int64_t half : {0, 1}) to.push_back(c.slice(e, 0, half * n.gates * hidden, (half + 1) * n.gates * hidden));
  };
  Exprs weights, state;
  for (int64_t d = 0; d < directions; ++d) {
    weights.push_back(of_direction(1, d)), weights.push_back(of_direction(2, d));
    if (c.has(3)) halves(of_direction(3, d), weights);
    if (peephole) weights.push_back(of_direction(7, d));
  }
  const Expr x = batch_first ? c.transpose(c.input(0), {1, 0, 2}) : c.input(0);
  for (size_t s = 0; s < n.states; ++s) {
    const Expr initial = c.has(5 + s) ? c.input(5 + s) : Expr();
    if (initial && !c.expect_rank(initial, 3, 3, s == 0 ? "initial_h" : "initial_c")) return {};
    state.push_back(initial ? batch_first ? c.transpose(initial, {1, 0, 2}) : initial
                            : c.broadcast_to(c.scalar(0, c.dtype(x)),
                                             {scalar::imm(directions), c.shape(x)[1], scalar::imm(hidden)}));
  }
  if (c.has(4)) {
    const Expr lengths = c.cast(c.input(4), DType::int64());
    state.push_back(refused_where(c, lengths, not_within(c, lengths, c.integer_scalar(0), c.size_of(x, 0)),
                                  "a value in sequence_lens is negative, or exceeds the number of steps of X",
                                  "give the length of each sequence, from 0 to the number of steps"));
  }
  attributes.insert(attributes.end(), {{"direction", direction},
                                       {"bias", c.has(3)},
                                       {"lengths", c.has(4)},
                                       {"activations", *activations},
                                       {"clip", c.real("clip", 0)}});
  if (peephole) attributes.push_back({"peephole", true});
  const Expr result = c.emit(n.op, {x, c.tuple(weights), c.tuple(state)}, attributes);
  Values out;
  for (size_t i = 0; i <= n.states; ++i) {
    Expr e = c.get(result, static_cast<int64_t>(i));
    if (batch_first) e = i == 0 ? c.transpose(e, {2, 0, 1, 3}) : c.transpose(e, {1, 0, 2});
    out.push_back(Value(e));
  }
  return out;
}

}  // namespace

Values LSTM(Convert& c) {
  return recurrent(c, {"nn.lstm", 4, 2, {"Sigmoid", "Tanh", "Tanh"}},
                   {{"input_forget", c.integer("input_forget", 0) != 0}});
}
Values GRU(Convert& c) {
  return recurrent(c, {"nn.gru", 3, 1, {"Sigmoid", "Tanh"}},
                   {{"linear_before_reset", c.integer("linear_before_reset", 0) != 0}});
}
Values RNN(Convert& c) { return recurrent(c, {"nn.rnn", 1, 1, {"Tanh"}}, {}); }

}  // namespace relay::onnx::convert
