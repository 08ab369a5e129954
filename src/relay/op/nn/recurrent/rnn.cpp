// nn.rnn: a recurrent network along a sequence. In each step, with x the input and h the state before it,
//
//   h' = act(W x + R h + b + b')
//
// The original Relay had no such operator.
#include "relay/op/nn/recurrent/recurrent.h"

namespace relay::ops {
namespace rnn_cpp {
namespace {

struct RnnAttrs {
  std::string direction = "forward";
  bool bias = true;
  bool lengths = false;
  std::string activations = "";
  double clip = 0;
  int64_t layers = 1;
  static constexpr auto fields = std::tuple{
      field("direction", &RnnAttrs::direction, "\"forward\", \"reverse\" or \"bidirectional\"."),
      field("bias", &RnnAttrs::bias, "True if weights have two biases per direction."),
      field("lengths", &RnnAttrs::lengths, "True if state has the lengths of the sequences, (N,)."),
      field("activations", &RnnAttrs::activations,
            "One name, for all directions or for each; empty: \"tanh\". Parameters are in parentheses: \"elu(0.5)\"."),
      field("clip", &RnnAttrs::clip, "Limits the arguments of activations to [-clip, clip]; 0: no limit."),
      field("layers", &RnnAttrs::layers,
            "Number of layers. Each layer after the first reads the outputs of the one before.")};
};

nn::RecurrentAttrs recurrent_attrs(const RnnAttrs& a) {
  nn::RecurrentAttrs attrs;
  attrs.direction = a.direction, attrs.activations = a.activations, attrs.layers = a.layers, attrs.clip = a.clip,
  attrs.bias = a.bias, attrs.lengths = a.lengths;
  attrs.default_activations = {"tanh"};
  return attrs;
}

te::Tensors compute(const RnnAttrs& a, const te::Tensors& in, const Type& out) {
  return nn::compute_recurrent(
      recurrent_attrs(a), in, out, true, [](const nn::Direction& d, const te::Tensors& before) {
        const te::Tensor product = d.product(before[0], 0, 1);
        return te::Tensors{elementwise("hidden", product,
                                       [&](const Exprs& i) { return d.activated(0, (*product)(i) + d.input(0, i)); })};
      });
}

ir::Expr definition(const RnnAttrs& a, const ir::Exprs& in) {
  return nn::define_recurrent(recurrent_attrs(a), in, true,
                              [](const nn::DirectionValues& d, const ir::Expr& from_input, const ir::Exprs& before) {
                                return ir::Exprs{d.activated(0, grad::plus(from_input, d.product(before[0])))};
                              });
}

std::vector<Example> examples() {
  return {{.inputs = {"(4, 2, 3)", "[(5, 3), (5, 5), (5,), (5,)]", "[(1, 2, 5)]"},
           .symbolic = {"(t, n, i)", "[(h, i), (h, h), (h,), (h,)]", "[(1, n, h)]"}},
          {.inputs = {"(3, 1, 4)", "[(8, 4), (8, 8), (8, 4), (8, 8)]", "[(2, 1, 8)]"},
           .attrs = "direction=\"bidirectional\", bias=False, activations=\"relu, tanh\"",
           .symbolic = {"(t, 1, 4)", "[(8, 4), (8, 8), (8, 4), (8, 8)]", "[(2, 1, 8)]"}},
          {.inputs = {"(4, 3, 2)", "[(3, 2), (3, 3)]", "[(1, 3, 3), (3,) int32]"},
           .attrs = "direction=\"reverse\", bias=False, lengths=True, activations=\"scaled_tanh(1.5, 0.5)\", clip=0.4f",
           .ranges = {{-1, 1}, {-1, 1}, {-1, 1}, {-1, 1}, {0, 4}}},
          {.inputs = {"(4, 2, 3)", "[(5, 3), (5, 5), (5, 5), (5, 5), (5, 5), (5, 5)]", "[(3, 2, 5)]"},
           .attrs = "bias=False, layers=3",
           .symbolic = {"(t, n, 3)", "[(h, 3), (h, h), (h, h), (h, h), (h, h), (h, h)]", "[(3, n, h)]"},
           .ulps = 16},  // each step and layer adds its rounding
          {.inputs = {"(64, 1, 128)", "[(128, 128), (128, 128), (128,), (128,)]", "[(1, 1, 128)]"}, .bench = true}};
}

}  // namespace
}  // namespace rnn_cpp

OpDef nn_rnn() {
  using namespace rnn_cpp;
  return define<RnnAttrs>(
      {.name = "nn.rnn",
       .doc = "A recurrent network along a sequence: the outputs of all steps, (T, D, N, H), and the state after the "
              "last, "
              "(L * D, N, H). PyTorch's outputs (T, N, D * H) are these with the axes D and N exchanged, then the last "
              "two combined; its weights are the same.",
       .inputs = {{"data", "(T, N, I): steps, sequences, features"},
                  {"weights",
                   "a tuple, for each layer and direction: weight (H, I), recurrence (H, H), with bias two biases (H,)",
                   true},
                  {"state", "a tuple: hidden (L * D, N, H) before the first step, with lengths (N,)", true}},
       .infer = [](const RnnAttrs& a, const Types& in) { return nn::infer_recurrent(recurrent_attrs(a), in); },
       .compute = compute,
       .definition = definition,
       .is_extension = true,
       .oracle = "recurrent.rnn(data, weights, state, direction, bias, lengths, activations, clip, layers)",
       .examples = examples(),
       .rejects = {{{"(4, 2, 3)", "[(2, 3), (2, 2)]", "[(1, 2, 2)]"}, "bias=False, direction=\"back\"", "C1"},
                   {{"(4, 2, 3)", "[(2, 3), (2, 2)]", "[(1, 2, 2)]"}, "bias=False, activations=\"tanh, tanh\"", "C2"},
                   {{"(4, 2, 3)", "[(2, 3), (2, 2)]", "[(1, 2, 2) float64]"}, "bias=False", "C3"},
                   {{"(4, 2, 3, 1)", "[(2, 3), (2, 2)]", "[(1, 2, 2)]"}, "bias=False", "C4"},
                   {{"(4, 2, 3)", "[(2, 3), (2, 2)]", "[(1, 2, 2)]"}, "", "C5"},
                   {{"(4, 2, 3)", "[(2, 3), (2, 3)]", "[(1, 2, 3)]"}, "bias=False", "C6"},
                   {{"(4, 2, 3)", "[(2, 3), (2, 2)]", "[(1, 3, 2)]"}, "bias=False", "C7"},
                   {{"(4, 2, 3)", "[(2, 3), (2, 2)]", "[(1, 2, 2), (2,)]"}, "bias=False, lengths=True", "C8"},
                   {{"(4, 2, 3)", "[(2, 3), (2, 2)]", "[(1, 2, 2)]"}, "bias=False, layers=0", "C9"}}},
      "RnnAttrs");
}

}  // namespace relay::ops
