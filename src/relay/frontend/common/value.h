// What a name of a foreign model stands for while it is imported.
#pragma once

#include "relay/frontend/common/known.h"
#include "relay/ir/expr.h"

namespace relay::frontend {

// An expression, or elements known at import (from which an expression is made when one is needed), or both. Neither:
// its node failed, or it is an output that does not exist.
struct Value {
  Value() = default;
  Value(ir::Expr e) : expr(std::move(e)) {}
  Value(KnownRef k) : known(std::move(k)) {}
  ir::Expr expr;  // typed
  KnownRef known;
  explicit operator bool() const { return expr || known; }
};
using Values = std::vector<Value>;

}  // namespace relay::frontend
