// A copy of an expression whose bound variables are its own, so that both can stand in one program.
//
//   let %a = exp(%x); add(%a, %y)   with y = 1f   becomes   let %a' = exp(%x); add(%a', 1f)
#pragma once

#include "relay/ir/rewrite.h"

namespace relay::ir {

enum class CopiedTypes : uint8_t { Kept, Forgotten };  // those that inference found

VarRef copy_of(const Var& v, CopiedTypes types = CopiedTypes::Kept);
// `values`: what stands for the free variables in it.
Expr copy(const Expr& e, VarMap values, CopiedTypes types = CopiedTypes::Kept);

}  // namespace relay::ir
