// Recurrences: a state that is updated by each step of a sequence; a step consists of stages of any kind.
//
//   rnn = recurrence(t < steps) {
//     product[n, j] = sum(k < H) hidden[n, k] * R[j, k]
//     next[n, j] = tanh(product[n, j] + x[t, n, j])
//     hidden = first, then next
//   }
//   hidden_1[i0, i1, i2] = state 0 of rnn
//
// To other code, these two are programs (te.h) with hidden loops. The recurrence itself has no elements; all values of
// a state, [steps + 1, ...], are a separate stage.
#pragma once

#include "relay/te/te.h"

namespace relay::te {

// The definition of a recurrence. `initial`, `before` and `after` have one entry per state.
struct Recurrence : Counted {
  Expr step;        // a variable, from 0 ...
  Expr steps;       // ... to this
  Tensors initial;  // each state before the first step
  Tensors before;   // placeholders: before this step
  // All stages that depend on the step, topological; they include `after`. Other stages that these read are computed
  // once.
  Tensors after;
  // All stages that depend on the step, topological; they include `after`. What else these read is computed once.
  Tensors stages;
};

struct RecurrenceNode : TensorNode {
  Ref<const Recurrence> recurrence;
};

struct StateNode : TensorNode {
  Tensor of;  // a RecurrenceNode
  size_t state = 0;
};

// Null if the stage is of another kind.
const Recurrence* as_recurrence(const TensorNode& stage);
const StateNode* as_state(const TensorNode& stage);
// The recurrence or state under another name.
Tensor renamed_recurrence(const Tensor& stage, const std::string& name);

// Updates states from `initial` through `steps` steps. `after(t, before)` are their values after step t, of the same
// shapes and types. Returns all values of each state: [0, ...] is the initial one, [t + 1, ...] the one after step t. A
// step contains no other recurrence.
Tensors recurrence(std::string name, Expr steps, const Tensors& initial,
                   const std::function<Tensors(const Expr& step, const Tensors& before)>& after);

// The parts of te::visit, rewrite, inputs and str (te.h) for recurrences and states.
void visit_steps(const Recurrence& recurrence, function_ref<void(const Expr&)> f);
// `rule` also sees, as loads at index 0, the initial values of a recurrence, and the recurrence of a state.
Tensor rewrite_recurrence(const Tensor& stage, function_ref<Expr(const Expr&)> rule);
std::string str_of_recurrence(const Tensor& stage);

}  // namespace relay::te
