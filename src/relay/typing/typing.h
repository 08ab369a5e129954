// Type inference: Hindley-Milner unification. Operators' relations run as soon as their inputs are known.
//
//   def @main(%x: Tensor[(m, 4), float32]) { nn.batch_flatten(%x) }
//       becomes  def @main(%x: Tensor[(m, 4), float32]) -> Tensor[(m, 4), float32] { ... }
//
// Every node's `type` is written in place (it is a cache that equality ignores); missing annotations of parameters and
// results of functions are filled in in the returned module. The type of a typed node is trusted, and nodes below it
// are skipped: passes keep the types of unchanged nodes, so only new nodes cost time.
#pragma once

#include <optional>

#include "relay/ir/expr.h"

namespace relay::typing {

constexpr size_t max_dimensions = 32;               // of a tensor
constexpr int64_t max_elements = int64_t{1} << 50;  // the product of its constant sizes except zeros

// Checks that the sizes of a type's tensors are within these limits and not negative.
Status valid_sizes(const ir::Type& type);

// The module with all types, or all diagnostics that can be found. `warnings`: suspicious parts of a valid module.
Result<ir::Module> infer(const ir::Module& module, Diagnostics* warnings = nullptr);

// The type of an expression; its free variables need annotations. `module` provides the globals and type definitions.
Result<ir::Type> infer_expr(const ir::Expr& expr, const ir::Module* module = nullptr);

// Removes the types cached in the nodes, so that inference visits everything again.
void forget_types(const ir::Module& module);

// A value that no clause matches, as a pattern: "Cons(_, Nil)"; nullopt if the match is complete.
std::optional<std::string> unmatched_case(const ir::Match& match, const ir::Module& module);

// The type of a global function by its annotations; null if a parameter or the result has none.
ir::Type annotated_type(const ir::Function& function);

}  // namespace relay::typing
