// Type inference: Hindley-Milner unification, with operators' relations run as soon as their inputs are known.
//
//   def @main(%x: Tensor[(m, 4), float32]) { nn.batch_flatten(%x) }
//       becomes  def @main(%x: Tensor[(m, 4), float32]) -> Tensor[(m, 4), float32] { ... }
//
// Every node's `type` is written in place (it is a cache that no equality looks at); missing annotations of parameters
// and results of functions are filled in the module that is returned. A node that has a type is trusted, and what is
// below it is not looked at again: passes keep the types of what they did not change, and only new nodes cost time.
#pragma once

#include <optional>

#include "relay/ir/expr.h"

namespace relay::typing {

constexpr size_t max_dimensions = 32;               // of a tensor
constexpr int64_t max_elements = int64_t{1} << 50;  // the product of its constant sizes but zeros

// Whether the sizes of a type's tensors are within these limits and not below zero.
Status valid_sizes(const ir::Type& type);

// The module with everything typed, or all the diagnostics that can be found. `warnings`: what is odd about a good
// module.
Result<ir::Module> infer(const ir::Module& module, Diagnostics* warnings = nullptr);

// The type of an expression; its free variables need annotations. `module` gives the globals and type definitions.
Result<ir::Type> infer_expr(const ir::Expr& expr, const ir::Module* module = nullptr);

// Types are caches in the nodes; without them inference looks at everything again.
void forget_types(const ir::Module& module);

// A value that no clause matches, as a pattern: "Cons(_, Nil)". Nothing when there is none.
std::optional<std::string> unmatched_case(const ir::Match& match, const ir::Module& module);

// The type of a global function as its annotations say it; null when a parameter or the result has none.
ir::Type annotated_type(const ir::Function& function);

}  // namespace relay::typing
