// annotation.checkpoint in reverse-mode differentiation: what is computed on the way to a checkpoint is not kept for
// the gradient, but computed again from what the checkpoint before kept.
//
//   let %a = exp(%x); let %b = tanh(%a); let %c = annotation.checkpoint(%b); ...
//     the gradient of %x, given %dc:
//   let %x' = annotation.checkpoint(%x); let %a' = exp(%x'); let %b' = tanh(%a');
//   let %da = ...%b', %dc..; let %dx = multiply(%da, %a')
//
// The checkpoint around %x keeps common_subexpr from making one of %a and %a' again; fuse_ops drops it.
#pragma once

#include "relay/ir/node_map.h"
#include "relay/transform/binding.h"

namespace relay::transform {

// The bindings that only lead to a checkpoint, in order, by the checkpoint's variable: those all of whose uses are by
// the checkpoint or by others of them. Checkpoints themselves are in none.
ir::NodeMap<std::vector<size_t>> checkpointed(const std::vector<Binding>& bindings);

// A piece again, as bindings of new variables, which are typed.
struct Recomputed {
  std::vector<Binding> bindings;
  std::vector<std::pair<ir::VarRef, ir::VarRef>> inputs;  // variables that it uses, and what stands for them in it
  ir::Expr value;                                         // what the checkpoint gets
};
Recomputed recomputed(const std::vector<Binding>& bindings, const std::vector<size_t>& piece,
                      const ir::Expr& checkpoint_input);

}  // namespace relay::transform
