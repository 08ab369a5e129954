// Products that stay apart from the sums of other operators (docs/numerics.md).
#pragma once

#include "relay/scalar/expr.h"

namespace relay::lower {

// True of a product that was the result of an operator, with another one behind it.
inline bool is_rounded(const scalar::Expr& e) {
  return e->kind == scalar::Kind::Unary && e->unary == scalar::UnaryOp::Rounded;
}
// That product; other values are returned as they are.
inline const scalar::Expr& unrounded(const scalar::Expr& e) { return is_rounded(e) ? e->args[0] : e; }

}  // namespace relay::lower
