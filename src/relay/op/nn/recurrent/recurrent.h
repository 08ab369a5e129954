// Shared parts of nn.rnn, nn.lstm and nn.gru: their inputs, the constraints on them, and the loop over the sequence.
//
// T steps, N sequences, L layers, D directions, I features, H hidden units, G gates, P units of the output (H, unless
// it is projected). Gates, biases and peepholes are in the order of ONNX's operators of the same names. A layer reads
// the result of the previous layer, (T, N, D * P).
#pragma once

#include "relay/op/gradient.h"
#include "relay/te/recurrence.h"

namespace relay::op::nn {

// A named function of one number: "sigmoid", "hard_sigmoid(0.2, 0.5)".
struct Activation {
  std::string name;
  double alpha = 0, beta = 0;
};

Expr activate(const Activation& a, const Expr& x);

// The attributes of a call, as a union over the three operators; attributes that an operator lacks keep their defaults.
struct RecurrentAttrs {
  std::string direction = "forward", activations;
  bool bias = true, lengths = false, peephole = false, projection = false;
  double clip = 0;
  int64_t layers = 1, gates = 1;
  size_t states = 1;  // 2 with the cell state
  std::vector<std::string> default_activations;

  int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
  size_t weights() const { return 2 + 2 * bias + peephole + projection; }  // per direction
};

// The activations of all directions, one direction after the other.
Result<std::vector<Activation>> activations_of(const RecurrentAttrs& attrs);

// Constraints: (C1) the direction and (C2) the activations exist, (C3) data and all weights and states are floats of
// one type, (C4) data is (T, N, I), the weights have the (C5) number and (C6) shapes that the attributes require, (C7)
// so do the states, (C8) lengths are integers, one per sequence, (C9) there is a layer. The result: (T, D, N, P) of the
// last layer, and the states after the last step, (L * D, N, P) and (L * D, N, H).
Result<Type> infer_recurrent(const RecurrentAttrs& attrs, const Types& in);

// A direction of a layer, and the position of its steps in the sequence.
struct Direction {
  te::Tensor weight, recurrence, bias, recurrent_bias, peephole, projection;  // null if absent
  const Activation* activations = nullptr;
  double clip = 0;
  Exprs rows;             // {N, H}, a state's shape without projection
  te::Tensor from_input;  // [T, N, G * H]: the input's contribution to the gates, with its bias
  Expr time;              // the position of the step in the sequence

  Expr hidden() const { return rows[1]; }
  // The input's contribution to gate `gate` of unit i[1] of sequence i[0].
  Expr input(int64_t gate, const Exprs& i) const { return (*from_input)({time, i[0], dim(gate) * hidden() + i[1]}); }
  Expr activated(size_t which, const Expr& x) const;
  // [N, count * H]: the rows of the recurrence from gate `first` on, times `state`.
  te::Tensor product(const te::Tensor& state, int64_t first, int64_t count) const;
};

// A step: returns the state after it, in the types of `before`, or in the accumulator's type where it differs.
using RecurrentCell = std::function<te::Tensors(const Direction& d, const te::Tensors& before)>;

// `bias_in_input`: the recurrence's bias is added to the input's contribution.
te::Tensors compute_recurrent(const RecurrentAttrs& attrs, const te::Tensors& in, const Type& out, bool bias_in_input,
                              const RecurrentCell& cell);

// --- in other operators, for OpSpec::definition (recurrent_definition.cpp) -------------------------------------------

// A direction of a layer, as expressions; fields as above. Numbers have the type of `like`.
struct DirectionValues {
  ir::Expr like, data, weight, recurrence, bias, recurrent_bias, peephole, projection;
  const Activation* activations = nullptr;
  double clip = 0;

  ir::Expr activated(size_t which, ir::Expr x) const;
  // The product of the recurrence and a state, without bias.
  ir::Expr product(const ir::Expr& state) const { return grad::call("nn.dense", {state, recurrence}); }
};

ir::Expr activate(const Activation& a, const ir::Expr& x, const ir::Expr& like);
// Splits into `parts` equal parts along an axis.
ir::Exprs split(const ir::Expr& x, int64_t parts, int64_t axis);

// A step: from the input's contribution to the gates, (N, G * H), and the states before it, to the states after it.
using RecurrentCellValues =
    std::function<ir::Exprs(const DirectionValues& d, const ir::Expr& from_input, const ir::Exprs& before)>;

// All steps, unrolled; null if their number is unknown.
ir::Expr define_recurrent(const RecurrentAttrs& attrs, const ir::Exprs& in, bool bias_in_input,
                          const RecurrentCellValues& cell);

}  // namespace relay::op::nn
