// Recurrences: a state that is taken through the steps of a sequence, each made of stages of any kind.
//
//   rnn = recurrence(t < steps) {
//     product[n, j] = sum(k < H) hidden[n, k] * R[j, k]
//     next[n, j] = tanh(product[n, j] + x[t, n, j])
//     hidden = first, then next
//   }
//   hidden_1[i0, i1, i2] = state 0 of rnn
//
// To whoever does not ask further, these two are programs (te.h) of which nobody sees the loops. The recurrence itself
// has no elements; all values of a state, [steps + 1, ...], are a stage of their own.
#pragma once

#include "relay/te/te.h"

namespace relay::te {

// What a recurrence does. The states are as many as each of `initial`, `before` and `after`.
struct Recurrence : Counted {
  Expr step;        // a variable, from 0 ...
  Expr steps;       // ... to this
  Tensors initial;  // each state before the first step
  Tensors before;   // placeholders: before this step
  Tensors after;    // stages: after this step
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

// Null: the stage is another one.
const Recurrence* as_recurrence(const TensorNode& stage);
const StateNode* as_state(const TensorNode& stage);
// A stage that is one of the two under another name.
Tensor renamed_recurrence(const Tensor& stage, const std::string& name);

// Takes states from `initial` through `steps` steps; `after(t, before)` are their values after step t, of the same
// shapes and types. For each state all of its values: [0, ...] is its initial one, [t + 1, ...] that after step t. A
// step holds no other recurrence.
Tensors recurrence(std::string name, Expr steps, const Tensors& initial,
                   const std::function<Tensors(const Expr& step, const Tensors& before)>& after);

// What te::visit, rewrite, inputs and str (te.h) do with the two.
void visit_steps(const Recurrence& recurrence, function_ref<void(const Expr&)> f);
// `rule` also sees, as loads at index 0, the initial values of a recurrence, and what a stage is the state of.
Tensor rewrite_recurrence(const Tensor& stage, function_ref<Expr(const Expr&)> rule);
std::string str_of_recurrence(const Tensor& stage);

}  // namespace relay::te
