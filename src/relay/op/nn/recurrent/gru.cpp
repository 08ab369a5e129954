// nn.gru: gated recurrent units along a sequence. In each step, with x the input and h the state before it,
//
//   z, r = act0(W x + R h + b + b')                  (in this order, each of H units)
//   g = act1(W x + b + R (r * h) + b')               linear_before_reset: act1(W x + b + r * (R h + b'))
//   h' = (1 - z) * g + z * h
//
// The original Relay had no such operator.
#include "relay/op/nn/recurrent/recurrent.h"

namespace relay::ops {
namespace gru_cpp {
namespace {

struct GruAttrs {
  std::string direction = "forward";
  bool bias = true;
  bool lengths = false;
  bool linear_before_reset = false;
  std::string activations = "";
  double clip = 0;
  int64_t layers = 1;
  static constexpr auto fields =
      std::tuple{field("direction", &GruAttrs::direction, "\"forward\", \"reverse\" or \"bidirectional\"."),
                 field("bias", &GruAttrs::bias, "True if weights have two biases per direction."),
                 field("lengths", &GruAttrs::lengths, "True if state has the lengths of the sequences, (N,)."),
                 field("linear_before_reset", &GruAttrs::linear_before_reset,
                       "True if r scales the output of the recurrence, false if it scales the input."),
                 field("activations", &GruAttrs::activations,
                       "Two names, for all directions or for each; empty: \"sigmoid, tanh\". Parameters are in "
                       "parentheses: \"hard_sigmoid(0.2, 0.5)\"."),
                 field("clip", &GruAttrs::clip, "Limits the arguments of activations to [-clip, clip]; 0: no limit."),
                 field("layers", &GruAttrs::layers,
                       "Number of layers. Each layer after the first reads the outputs of the one before.")};
};

nn::RecurrentAttrs recurrent_attrs(const GruAttrs& a) {
  nn::RecurrentAttrs attrs;
  attrs.direction = a.direction, attrs.activations = a.activations, attrs.layers = a.layers, attrs.clip = a.clip,
  attrs.bias = a.bias, attrs.lengths = a.lengths;
  attrs.gates = 3, attrs.default_activations = {"sigmoid", "tanh"};
  return attrs;
}

te::Tensors step(const GruAttrs& a, const nn::Direction& d, const te::Tensors& before) {
  constexpr int64_t update = 0, reset = 1, fresh = 2;
  const DType dtype = accumulator(before[0]->dtype);
  // Including the bias.
  auto of_state = [&](const te::Tensor& product, int64_t first, int64_t gate, const Exprs& i) {
    Expr x = (*product)({i[0], dim(gate - first) * d.hidden() + i[1]});
    return d.recurrent_bias ? x + cast(dtype, (*d.recurrent_bias)({dim(gate) * d.hidden() + i[1]})) : x;
  };
  const te::Tensor product = d.product(before[0], 0, a.linear_before_reset ? 3 : 2);
  auto gate = [&](int64_t which, const Exprs& i) {
    return d.activated(0, d.input(which, i) + of_state(product, 0, which, i));
  };
  auto next = [&](const Exprs& i, const Expr& from_state) {
    const Expr z = gate(update, i), g = d.activated(1, d.input(fresh, i) + from_state);
    return (number(1, dtype) - z) * g + z * cast(dtype, (*before[0])(i));
  };
  if (a.linear_before_reset)
    return {te::compute("hidden", d.rows,
                        [&](const Exprs& i) { return next(i, gate(reset, i) * of_state(product, 0, fresh, i)); })};
  const te::Tensor kept =
      te::compute("kept", d.rows, [&](const Exprs& i) { return gate(reset, i) * cast(dtype, (*before[0])(i)); });
  const te::Tensor second = d.product(kept, fresh, 1);
  return {te::compute("hidden", d.rows, [&](const Exprs& i) { return next(i, of_state(second, fresh, fresh, i)); })};
}

te::Tensors compute(const GruAttrs& a, const te::Tensors& in, const Type& out) {
  return nn::compute_recurrent(recurrent_attrs(a), in, out, false,
                               [&](const nn::Direction& d, const te::Tensors& before) { return step(a, d, before); });
}

ir::Expr definition(const GruAttrs& a, const ir::Exprs& in) {
  return nn::define_recurrent(
      recurrent_attrs(a), in, false,
      [&](const nn::DirectionValues& d, const ir::Expr& from_input, const ir::Exprs& before) {
        const ir::Exprs x = nn::split(from_input, 3, 1), rows = nn::split(d.recurrence, 3, 0);
        const ir::Exprs biases = d.bias ? nn::split(d.recurrent_bias, 3, 0) : ir::Exprs();
        auto of_state = [&](size_t which, const ir::Expr& state) {
          const ir::Expr product = grad::call("nn.dense", {state, rows[which]});
          return d.bias ? grad::plus(product, biases[which]) : product;
        };
        const ir::Expr &h = before[0], z = d.activated(0, grad::plus(x[0], of_state(0, h))),
                       r = d.activated(0, grad::plus(x[1], of_state(1, h)));
        const ir::Expr kept = a.linear_before_reset ? grad::times(r, of_state(2, h)) : of_state(2, grad::times(r, h));
        const ir::Expr g = d.activated(1, grad::plus(x[2], kept));
        return ir::Exprs{grad::plus(grad::times(grad::minus(grad::number(1, d.like), z), g), grad::times(z, h))};
      });
}

std::vector<Example> examples() {
  return {
      {.inputs = {"(4, 2, 3)", "[(15, 3), (15, 5), (15,), (15,)]", "[(1, 2, 5)]"},
       .symbolic = {"(t, n, i)", "[(15, i), (15, 5), (15,), (15,)]", "[(1, n, 5)]"}},
      {.inputs = {"(3, 1, 4)", "[(24, 4), (24, 8), (24,), (24,), (24, 4), (24, 8), (24,), (24,)]", "[(2, 1, 8)]"},
       .attrs = "direction=\"bidirectional\", linear_before_reset=True",
       .symbolic = {"(t, 1, 4)", "[(24, 4), (24, 8), (24,), (24,), (24, 4), (24, 8), (24,), (24,)]", "[(2, 1, 8)]"}},
      {.inputs = {"(4, 3, 2)", "[(9, 2), (9, 3)]", "[(1, 3, 3), (3,) int64]"},
       .attrs =
           "direction=\"reverse\", bias=False, lengths=True, activations=\"affine(0.3, 0.4), elu(0.5)\", clip=0.4f",
       .ranges = {{-1, 1}, {-1, 1}, {-1, 1}, {-1, 1}, {0, 4}}},
      {.inputs = {"(4, 3, 2)", "[(9, 2), (9, 3), (9, 3), (9, 3)]", "[(2, 3, 3), (3,) int32]"},
       .attrs = "bias=False, lengths=True, direction=\"reverse\", layers=2",
       .symbolic = {"(t, n, 2)", "[(9, 2), (9, 3), (9, 3), (9, 3)]", "[(2, n, 3), (n,) int32]"},
       .ranges = {{-1, 1}, {-1, 1}, {-1, 1}, {-1, 1}, {-1, 1}, {-1, 1}, {0, 4}}},
      {.inputs = {"(64, 1, 128)", "[(384, 128), (384, 128), (384,), (384,)]", "[(1, 1, 128)]"},
       .attrs = "linear_before_reset=True",
       .bench = true}};
}

}  // namespace
}  // namespace gru_cpp

OpDef nn_gru() {
  using namespace gru_cpp;
  return define<GruAttrs>(
      {.name = "nn.gru",
       .doc = "Gated recurrent units along a sequence: the outputs of all steps, (T, D, N, H), and the state after the "
              "last, (L * D, N, H). PyTorch's outputs (T, N, D * H) are these with the axes D and N exchanged, then "
              "the last two combined.",
       .inputs = {{"data", "(T, N, I): steps, sequences, features"},
                  {"weights",
                   "a tuple, for each layer and direction: weight (3 * H, I), recurrence (3 * H, H), with bias two "
                   "biases (3 * H,). The gates are in ONNX's order, H rows each: update z, reset r, hidden g. PyTorch "
                   "has r, z, n, and linear_before_reset: of its three parts take 1, 0, 2",
                   true},
                  {"state", "a tuple: hidden (L * D, N, H) before the first step, with lengths (N,)", true}},
       .infer = [](const GruAttrs& a, const Types& in) { return nn::infer_recurrent(recurrent_attrs(a), in); },
       .compute = compute,
       .definition = definition,
       .is_extension = true,
       .oracle = "recurrent.gru(data, weights, state, direction, bias, lengths, linear_before_reset, activations, "
                 "clip, layers)",
       .examples = examples(),
       .rejects = {{{"(4, 2, 3)", "[(6, 3), (6, 2)]", "[(1, 2, 2)]"}, "bias=False, direction=\"both\"", "C1"},
                   {{"(4, 2, 3)", "[(6, 3), (6, 2)]", "[(1, 2, 2)]"},
                    "bias=False, activations=\"tanh(1), tanh\"",
                    "C2"},
                   {{"(4, 2, 3)", "[(6, 3), (6, 2) float16]", "[(1, 2, 2)]"}, "bias=False", "C3"},
                   {{"(4, 2, 3, 1)", "[(6, 3), (6, 2)]", "[(1, 2, 2)]"}, "bias=False", "C4"},
                   {{"(4, 2, 3)", "[(6, 3), (6, 2)]", "[(1, 2, 2)]"}, "bias=False, direction=\"bidirectional\"", "C5"},
                   {{"(4, 2, 3)", "[(8, 3), (8, 2)]", "[(1, 2, 2)]"}, "bias=False", "C6"},
                   {{"(4, 2, 3)", "[(6, 3), (6, 2)]", "[(2, 2, 2)]"}, "bias=False", "C7"},
                   {{"(4, 2, 3)", "[(6, 3), (6, 2)]", "[(1, 2, 2), (2, 1) int32]"}, "bias=False, lengths=True", "C8"},
                   {{"(4, 2, 3)", "[(6, 3), (6, 2)]", "[(1, 2, 2)]"}, "bias=False, layers=-1", "C9"}}},
      "GruAttrs");
}

}  // namespace relay::ops
