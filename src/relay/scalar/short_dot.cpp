#include "relay/scalar/short_dot.h"

namespace relay::scalar {

Expr short_dot(DType dtype, Exprs a, Exprs b) {
  Node n = *dot(dtype, std::move(a), std::move(b));
  n.ivalue = 1;
  return Expr(new Node(std::move(n)));
}

bool is_short_dot(const Expr& e) { return e->kind == Kind::Dot && e->ivalue != 0; }

}  // namespace relay::scalar
