// nn.lstm: long short-term memory along a sequence. In each step, with x the input and h, c the states before it,
//
//   i, o, f, g = act0(W x + R h + b), act0 for all but g, which has act1     (in this order, each of H units)
//   c' = f * c + i * g        h' = o * act2(c')
//
// With peepholes i and f add p * c, and o adds p * c', before the activation; with a projection h' is P h'. The
// original Relay had no such operator.
#include "relay/op/nn/recurrent/recurrent.h"

namespace relay::ops {
namespace lstm_cpp {
namespace {

struct LstmAttrs {
  std::string direction = "forward";
  bool bias = true;
  bool peephole = false;
  bool projection = false;
  bool lengths = false;
  bool input_forget = false;
  std::string activations = "";
  double clip = 0;
  int64_t layers = 1;
  static constexpr auto fields =
      std::tuple{field("direction", &LstmAttrs::direction, "\"forward\", \"reverse\" or \"bidirectional\"."),
                 field("bias", &LstmAttrs::bias, "True if weights have two biases per direction."),
                 field("peephole", &LstmAttrs::peephole, "True if weights have peepholes, (3 * H,) for i, o and f."),
                 field("projection", &LstmAttrs::projection, "True if weights have a projection, (P, H)."),
                 field("lengths", &LstmAttrs::lengths, "True if state has the lengths of the sequences, (N,)."),
                 field("input_forget", &LstmAttrs::input_forget, "True if f is 1 - i."),
                 field("activations", &LstmAttrs::activations,
                       "Three names, for all directions or for each; empty: \"sigmoid, tanh, tanh\". Parameters are in "
                       "parentheses: \"hard_sigmoid(0.2, 0.5)\"."),
                 field("clip", &LstmAttrs::clip, "Limits the arguments of activations to [-clip, clip]; 0: no limit."),
                 field("layers", &LstmAttrs::layers,
                       "Number of layers. Each layer after the first reads the outputs of the one before.")};
};

nn::RecurrentAttrs recurrent_attrs(const LstmAttrs& a) {
  nn::RecurrentAttrs attrs;
  attrs.direction = a.direction, attrs.activations = a.activations, attrs.layers = a.layers, attrs.clip = a.clip;
  attrs.bias = a.bias, attrs.peephole = a.peephole, attrs.projection = a.projection, attrs.lengths = a.lengths;
  attrs.gates = 4, attrs.states = 2, attrs.default_activations = {"sigmoid", "tanh", "tanh"};
  return attrs;
}

te::Tensors step(const LstmAttrs& a, const nn::Direction& d, const te::Tensors& before) {
  constexpr int64_t in = 0, out = 1, forget = 2, fresh = 3;  // the first three have peepholes
  const DType dtype = accumulator(before[0]->dtype);
  const te::Tensor product = d.product(before[0], 0, 4);
  const te::Tensor gates = elementwise(
      "gates", product, [&](const Exprs& i) { return (*product)(i) + (*d.from_input)({d.time, i[0], i[1]}); });
  auto gate = [&](int64_t which, const Exprs& i, const Expr& cell) {
    Expr x = (*gates)({i[0], dim(which) * d.hidden() + i[1]});
    if (d.peephole && cell) x = x + cast(dtype, (*d.peephole)({dim(which) * d.hidden() + i[1]})) * cell;
    return d.activated(which == fresh ? 1 : 0, x);
  };
  const te::Tensor cell = te::compute("cell", d.rows, [&](const Exprs& i) {
    const Expr last = cast(dtype, (*before[1])(i)), add = gate(in, i, last);
    const Expr keep = a.input_forget ? number(1, dtype) - add : gate(forget, i, last);
    return keep * last + add * gate(fresh, i, {});
  });
  const te::Tensor hidden = te::compute("hidden", d.rows, [&](const Exprs& i) {
    return gate(out, i, (*cell)(i)) * nn::activate(d.activations[2], (*cell)(i));
  });
  if (!d.projection) return {hidden, cell};
  const Expr& n = d.rows[0];
  const te::Tensor projected = te::reduce("projected", {n, d.projection->shape[0]}, {d.hidden()}, Combiner::Sum,
                                          [&](const Exprs& i, const Exprs& k) {
                                            return (*hidden)({i[0], k[0]}) * cast(dtype, (*d.projection)({i[1], k[0]}));
                                          });
  return {projected, cell};
}

te::Tensors compute(const LstmAttrs& a, const te::Tensors& in, const Type& out) {
  return nn::compute_recurrent(recurrent_attrs(a), in, out, true,
                               [&](const nn::Direction& d, const te::Tensors& before) { return step(a, d, before); });
}

ir::Expr definition(const LstmAttrs& a, const ir::Exprs& in) {
  return nn::define_recurrent(
      recurrent_attrs(a), in, true,
      [&](const nn::DirectionValues& d, const ir::Expr& from_input, const ir::Exprs& before) {
        const ir::Exprs gates = nn::split(grad::plus(from_input, d.product(before[0])), 4, 1);
        const ir::Exprs holes = d.peephole ? nn::split(d.peephole, 3, 0) : ir::Exprs();
        auto gate = [&](size_t which, const ir::Expr& cell) {
          const ir::Expr x = d.peephole ? grad::plus(gates[which], grad::times(holes[which], cell)) : gates[which];
          return d.activated(0, x);
        };
        const ir::Expr add = gate(0, before[1]), fresh = d.activated(1, gates[3]);
        const ir::Expr keep = a.input_forget ? grad::minus(grad::number(1, d.like), add) : gate(2, before[1]);
        const ir::Expr cell = grad::plus(grad::times(keep, before[1]), grad::times(add, fresh));
        ir::Expr hidden = grad::times(gate(1, cell), nn::activate(d.activations[2], cell, d.like));
        if (d.projection) hidden = grad::call("nn.dense", {hidden, d.projection});
        return ir::Exprs{hidden, cell};
      });
}

std::vector<Example> examples() {
  return {
      {.inputs = {"(4, 2, 3)", "[(20, 3), (20, 5), (20,), (20,)]", "[(1, 2, 5), (1, 2, 5)]"},
       .symbolic = {"(t, n, i)", "[(20, i), (20, 5), (20,), (20,)]", "[(1, n, 5), (1, n, 5)]"}},
      {.inputs = {"(3, 1, 4)", "[(32, 4), (32, 8), (32, 4), (32, 8)]", "[(2, 1, 8), (2, 1, 8)]"},
       .attrs = "direction=\"bidirectional\", bias=False",
       .symbolic = {"(t, 1, 4)", "[(32, 4), (32, 8), (32, 4), (32, 8)]", "[(2, 1, 8), (2, 1, 8)]"}},
      {.inputs = {"(3, 2, 3)", "[(20, 3), (20, 4), (20,), (20,), (15,), (4, 5)]", "[(1, 2, 4), (1, 2, 5)]"},
       .attrs = "direction=\"reverse\", peephole=True, projection=True, input_forget=True, clip=0.5f"},
      {.inputs = {"(4, 3, 2)", "[(12, 2), (12, 3), (12,), (12,)]", "[(1, 3, 3), (1, 3, 3), (3,) int32]"},
       .attrs = "direction=\"reverse\", lengths=True, activations=\"hard_sigmoid, softsign, leaky_relu(0.2)\"",
       .symbolic = {"(t, n, 2)", "[(12, 2), (12, 3), (12,), (12,)]", "[(1, n, 3), (1, n, 3), (n,) int32]"},
       .ranges = {{-1, 1}, {-1, 1}, {-1, 1}, {-1, 1}, {-1, 1}, {-1, 1}, {-1, 1}, {0, 4}}},
      {.inputs = {"(3, 2, 3)",
                  "[(20, 3), (20, 4), (4, 5), (20, 3), (20, 4), (4, 5), (20, 8), (20, 4), (4, 5), (20, 8), (20, 4), "
                  "(4, 5)]",
                  "[(4, 2, 4), (4, 2, 5)]"},
       .attrs = "direction=\"bidirectional\", bias=False, projection=True, layers=2",
       .symbolic = {"(t, 2, 3)",
                    "[(20, 3), (20, 4), (4, 5), (20, 3), (20, 4), (4, 5), (20, 8), (20, 4), (4, 5), (20, 8), "
                    "(20, 4), (4, 5)]",
                    "[(4, 2, 4), (4, 2, 5)]"},
       .ulps = 16},  // each step and layer adds its rounding
      {.inputs = {"(64, 1, 128)", "[(512, 128), (512, 128), (512,), (512,)]", "[(1, 1, 128), (1, 1, 128)]"},
       .bench = true}};
}

}  // namespace
}  // namespace lstm_cpp

OpDef nn_lstm() {
  using namespace lstm_cpp;
  return define<LstmAttrs>(
      {.name = "nn.lstm",
       .doc =
           "Long short-term memory along a sequence: the outputs of all steps, (T, D, N, P), and the two states after "
           "the last, (L * D, N, P) and (L * D, N, H). PyTorch's outputs (T, N, D * P) are these with the axes D and N "
           "exchanged, then the last two combined.",
       .inputs = {{"data", "(T, N, I): steps, sequences, features"},
                  {"weights",
                   "a tuple, for each layer and direction: weight (4 * H, I), recurrence (4 * H, P), with bias two "
                   "biases (4 * H,), with peephole (3 * H,), with projection (P, H); P is H without one. The gates are "
                   "in ONNX's order, H rows each: input i, output o, forget f, cell g. PyTorch has i, f, g, o: of its "
                   "four parts take 0, 3, 1, 2",
                   true},
                  {"state",
                   "a tuple: hidden (L * D, N, P) and cell (L * D, N, H) before the first step, with lengths (N,)",
                   true}},
       .infer = [](const LstmAttrs& a, const Types& in) { return nn::infer_recurrent(recurrent_attrs(a), in); },
       .compute = compute,
       .definition = definition,
       .is_extension = true,
       .oracle = "recurrent.lstm(data, weights, state, direction, bias, peephole, projection, lengths, input_forget, "
                 "activations, clip, layers)",
       .examples = examples(),
       .rejects =
           {{{"(4, 2, 3)", "[(8, 3), (8, 2)]", "[(1, 2, 2), (1, 2, 2)]"}, "bias=False, direction=\"up\"", "C1"},
            {{"(4, 2, 3)", "[(8, 3), (8, 2)]", "[(1, 2, 2), (1, 2, 2)]"}, "bias=False, activations=\"tanh\"", "C2"},
            {{"(4, 2, 3)", "[(8, 3), (8, 2)]", "[(1, 2, 2), (1, 2, 2)]"},
             "bias=False, activations=\"tanh, tan, tanh\"",
             "C2"},
            {{"(4, 2, 3) int32", "[(8, 3), (8, 2)]", "[(1, 2, 2), (1, 2, 2)]"}, "bias=False", "C3"},
            {{"(4, 2, 3)", "[(8, 3) float64, (8, 2)]", "[(1, 2, 2), (1, 2, 2)]"}, "bias=False", "C3"},
            {{"(4, 2)", "[(8, 3), (8, 2)]", "[(1, 2, 2), (1, 2, 2)]"}, "bias=False", "C4"},
            {{"(4, 2, 3)", "[(8, 3), (8, 2)]", "[(1, 2, 2), (1, 2, 2)]"}, "", "C5"},
            {{"(4, 2, 3)", "[(8, 4), (8, 2)]", "[(1, 2, 2), (1, 2, 2)]"}, "bias=False", "C6"},
            {{"(4, 2, 3)", "[(8, 3), (8, 2)]", "[(1, 2, 2), (1, 1, 2)]"}, "bias=False", "C7"},
            {{"(4, 2, 3)", "[(8, 3), (8, 2)]", "[(1, 2, 2), (1, 2, 2)]"}, "bias=False, lengths=True", "C7"},
            {{"(4, 2, 3)", "[(8, 3), (8, 2)]", "[(1, 2, 2), (1, 2, 2), (3,) int32]"}, "bias=False, lengths=True", "C8"},
            {{"(4, 2, 3)", "[(8, 3), (8, 2)]", "[(1, 2, 2), (1, 2, 2), (2,)]"}, "bias=False, lengths=True", "C8"},
            {{"(4, 2, 3)", "[(8, 3), (8, 2), (8, 3), (8, 2)]", "[(2, 2, 2), (2, 2, 2)]"}, "bias=False, layers=2", "C6"},
            {{"(4, 2, 3)", "[(8, 3), (8, 2)]", "[(1, 2, 2), (1, 2, 2)]"}, "bias=False, layers=0", "C9"}}},
      "LstmAttrs");
}

}  // namespace relay::ops
