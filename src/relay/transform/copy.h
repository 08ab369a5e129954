// A copy of an expression whose bound variables are its own, so that both can stand in one program.
//
//   let %a = exp(%x); add(%a, %y)   with y = 1f   becomes   let %a' = exp(%x); add(%a', 1f)
#pragma once

#include "relay/ir/rewrite.h"

namespace relay::transform {

// `values`: what stands for the free variables in it.
ir::Expr copy(const ir::Expr& e, ir::VarMap values);

// The body of a function with the arguments in place of its parameters. Those that have an effect, and those that would
// be evaluated in a branch or in a function inside of it, are let-bound before it. `is_pure(i)`: argument i has no
// effect.
ir::Expr call_in_place(const ir::Function& function, const ir::Exprs& args, function_ref<bool(size_t)> is_pure);

}  // namespace relay::transform
