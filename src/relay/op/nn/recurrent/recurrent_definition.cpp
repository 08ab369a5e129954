// Recurrent networks in terms of other operators, step by step, for differentiation.
#include "relay/op/nn/recurrent/recurrent.h"

namespace relay::op::nn {

using grad::call;

ir::Expr activate(const Activation& a, const ir::Expr& x, const ir::Expr& like) {
  auto number = [&](double v) { return grad::number(v, like); };
  auto above = [&](const ir::Expr& bound, const ir::Expr& then, const ir::Expr& otherwise) {
    return call("where", {call("greater", {x, bound}), then, otherwise});
  };
  if (a.name == "sigmoid" || a.name == "tanh") return call(a.name, {x});
  if (a.name == "relu") return call("nn.relu", {x});
  if (a.name == "softsign") return grad::over(x, grad::plus(call("abs", {x}), number(1)));
  if (a.name == "softplus") return call("nn.softplus", {x});
  if (a.name == "leaky_relu") return call("nn.leaky_relu", {x}, {{"alpha", a.alpha}});
  if (a.name == "elu")
    return above(number(0), x, grad::times(number(a.alpha), call("expm1", {call("minimum", {x, number(0)})})));
  if (a.name == "thresholded_relu") return above(number(a.alpha), x, grad::zeros_like(x));
  if (a.name == "affine") return grad::plus(grad::times(number(a.alpha), x), number(a.beta));
  if (a.name == "scaled_tanh") return grad::times(number(a.alpha), call("tanh", {grad::times(number(a.beta), x)}));
  RELAY_CHECK(a.name == "hard_sigmoid", "activation {} has no expression", a.name);
  return call("clip", {grad::plus(grad::times(number(a.alpha), x), number(a.beta))}, {{"a_min", 0.0}, {"a_max", 1.0}});
}

ir::Expr DirectionValues::activated(size_t which, ir::Expr x) const {
  if (clip > 0) x = call("clip", {std::move(x)}, {{"a_min", -clip}, {"a_max", clip}});
  return activate(activations[which], x, like);
}

ir::Exprs split(const ir::Expr& x, int64_t parts, int64_t axis) {
  if (parts == 1) return {x};
  const ir::Expr all = call("split", {x}, {{"indices_or_sections", parts}, {"axis", axis}});
  ir::Exprs out;
  for (int64_t k = 0; k < parts; ++k) out.push_back(ir::get(all, k));
  return out;
}

namespace {

// The outputs of all steps, in the order of the sequence, then the last states.
ir::Exprs steps_of(const DirectionValues& d, ir::Exprs state, const ir::Expr& lengths, int64_t steps, bool reverse,
                   bool bias_in_input, const RecurrentCellValues& cell) {
  ir::Expr all = call("nn.dense", {d.data, d.weight});
  if (d.bias) all = grad::plus(all, d.bias);
  if (d.bias && bias_in_input) all = grad::plus(all, d.recurrent_bias);
  const ir::Exprs inputs = split(all, steps, 0);
  ir::Exprs outputs(static_cast<size_t>(steps));
  for (int64_t s = 0; s < steps; ++s) {
    const int64_t t = reverse ? steps - 1 - s : s;
    const size_t at = static_cast<size_t>(t);
    ir::Exprs after = cell(d, call("squeeze", {inputs[at]}, {{"axis", Ints{0}}}), state);
    outputs[at] = after[0];
    if (lengths) {
      ir::Expr place = ir::constant(Tensor::from_ints({}, DType::int64(), std::span(&t, 1)));
      const ir::Expr within = call("expand_dims", {call("less", {std::move(place), lengths})}, {{"axis", int64_t{1}}});
      for (size_t k = 0; k < after.size(); ++k) after[k] = call("where", {within, after[k], state[k]});
      outputs[at] = call("where", {within, after[0], grad::zeros_like(after[0])});
    }
    state = std::move(after);
  }
  ir::Exprs out = {call("stack", {ir::tuple(std::move(outputs))}, {{"axis", int64_t{0}}})};
  out.insert(out.end(), state.begin(), state.end());
  return out;
}

}  // namespace

ir::Expr define_recurrent(const RecurrentAttrs& attrs, const ir::Exprs& in, bool bias_in_input,
                          const RecurrentCellValues& cell) {
  const Dim& steps = grad::tensor(in[0]).shape[0];
  if (!scalar::is_int(steps) || steps->ivalue < 1) return nullptr;
  const int64_t directions = attrs.directions();
  const std::vector<Activation> activations = *activations_of(attrs);
  ir::Expr lengths;
  if (attrs.lengths)
    lengths = call("cast", {ir::get(in[2], static_cast<int64_t>(attrs.states))}, {{"dtype", DType::int64()}});
  ir::Expr data = in[0];
  std::vector<ir::Exprs> last(attrs.states);  // by row of the states
  for (int64_t layer = 0; layer < attrs.layers; ++layer) {
    ir::Exprs outputs;  // by direction
    for (int64_t k = 0; k < directions; ++k) {
      const int64_t row = layer * directions + k;
      int64_t next = row * static_cast<int64_t>(attrs.weights());
      auto weight = [&] { return ir::get(in[1], next++); };
      DirectionValues d;
      d.like = in[0], d.data = data, d.weight = weight(), d.recurrence = weight();
      if (attrs.bias) d.bias = weight(), d.recurrent_bias = weight();
      if (attrs.peephole) d.peephole = weight();
      if (attrs.projection) d.projection = weight();
      d.activations = activations.data() + static_cast<size_t>(k) * attrs.default_activations.size(),
      d.clip = attrs.clip;
      ir::Exprs state;
      for (size_t s = 0; s < attrs.states; ++s)
        state.push_back(call("take",
                             {ir::get(in[2], static_cast<int64_t>(s)),
                              ir::constant(Tensor::from_ints({}, DType::int64(), std::span(&row, 1)))},
                             {{"axis", int64_t{0}}}));
      ir::Exprs found = steps_of(d, std::move(state), lengths, steps->ivalue, attrs.direction == "reverse" || k == 1,
                                 bias_in_input, cell);
      outputs.push_back(found[0]);
      for (size_t s = 0; s < attrs.states; ++s) last[s].push_back(found[s + 1]);
    }
    if (layer + 1 == attrs.layers)
      data = call("stack", {ir::tuple(std::move(outputs))}, {{"axis", int64_t{1}}});
    else
      data =
          directions == 1 ? outputs[0] : call("concatenate", {ir::tuple(std::move(outputs))}, {{"axis", int64_t{2}}});
  }
  ir::Exprs results = {std::move(data)};
  for (ir::Exprs& of : last) results.push_back(call("stack", {ir::tuple(std::move(of))}, {{"axis", int64_t{0}}}));
  return ir::tuple(std::move(results));
}

}  // namespace relay::op::nn
