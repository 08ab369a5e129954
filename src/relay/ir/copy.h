// Copies an expression with fresh bound variables, so that the original and the copy can occur in one program.
//
//   let %a = exp(%x); add(%a, %y)   with y = 1f   becomes   let %a' = exp(%x); add(%a', 1f)
#pragma once

#include "relay/ir/rewrite.h"

namespace relay::ir {

enum class CopiedTypes : uint8_t { Kept, Forgotten };  // the types that inference found

VarRef copy_of(const Var& v, CopiedTypes types = CopiedTypes::Kept);
// `values`: the replacements of free variables.
Expr copy(const Expr& e, VarMap values, CopiedTypes types = CopiedTypes::Kept);

}  // namespace relay::ir
