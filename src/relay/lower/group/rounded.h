// Products that stay apart from the sums of other operators (docs/numerics.md).
#pragma once

#include "relay/scalar/expr.h"

namespace relay::lower {

// Returns true for a product or an exponential that is the result of an operator and that another operator reads.
inline bool is_rounded(const scalar::Expr& e) {
  return e->kind == scalar::Kind::Unary && e->unary == scalar::UnaryOp::Rounded;
}
// Returns that value, and other values as they are.
inline const scalar::Expr& unrounded(const scalar::Expr& e) { return is_rounded(e) ? e->args[0] : e; }

}  // namespace relay::lower
