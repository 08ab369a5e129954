// annotation.checkpoint in reverse-mode differentiation: intermediate values between checkpoints are not kept for the
// gradient, but recomputed from the previous checkpoint.
//
//   let %a = exp(%x); let %b = tanh(%a); let %c = annotation.checkpoint(%b); ...
//     the gradient of %x, for a given %dc:
//   let %x' = annotation.checkpoint(%x); let %a' = exp(%x'); let %b' = tanh(%a');
//   let %da = ...%b', %dc..; let %dx = multiply(%da, %a')
//
// The checkpoint around %x keeps common_subexpr from merging %a and %a'; fuse_ops drops it.
#pragma once

#include "relay/ir/node_map.h"
#include "relay/transform/binding.h"

namespace relay::transform {

// For each checkpoint's variable, the bindings that lead only to it, in order: all their uses are by the checkpoint or
// by others of these bindings. Checkpoints themselves are never included.
ir::NodeMap<std::vector<size_t>> checkpointed(const std::vector<Binding>& bindings);

// A recomputed piece, as bindings of new, typed variables.
struct Recomputed {
  std::vector<Binding> bindings;
  std::vector<std::pair<ir::VarRef, ir::VarRef>> inputs;  // variables that it uses, and their replacements in it
  ir::Expr value;                                         // the operand of the checkpoint
};
Recomputed recompute(const std::vector<Binding>& bindings, const std::vector<size_t>& piece,
                     const ir::Expr& checkpoint_input);

}  // namespace relay::transform
