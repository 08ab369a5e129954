#include "relay/frontend/common/ops/curves.h"

#include <cmath>
#include <numbers>

namespace relay::frontend {

using ir::Expr;

DType exact_type(Conversion& c, const Expr& x, DType least) {
  const DType dtype = c.dtype(x);
  if (!x || !dtype.is_float()) return dtype;
  const DType wide = least.bits > 32 ? least : DType::float32();
  return dtype.bits < wide.bits ? wide : dtype;
}

Expr computed_exactly(Conversion& c, const Expr& x, function_ref<Expr(const Expr&)> curve, DType least) {
  if (!x) return curve(x);
  const DType dtype = c.dtype(x), exact = exact_type(c, x, least);
  return exact == dtype ? curve(x) : c.cast(curve(c.cast(x, exact)), dtype);
}

Expr silu(Conversion& c, const Expr& x, double alpha) {
  return computed_exactly(c, x,
                          [&](const Expr& e) { return c.multiply(e, c.emit("sigmoid", {c.multiply(e, alpha)})); });
}

// With the tanh, (1 + tanh(y)) / 2 is sigmoid(2 * y), in which no digits cancel.
static Expr gelu_of_tanh(Conversion& c, const Expr& x) {
  Expr cube = c.multiply(c.multiply(x, x), x);
  Expr twice = c.multiply(c.add(x, c.multiply(cube, 0.044715)), 2 * std::sqrt(2 / std::numbers::pi));
  return c.multiply(x, c.emit("sigmoid", {twice}));
}

Expr gelu(Conversion& c, const Expr& x, bool approximately) {
  if (!approximately) return c.emit("nn.gelu", {x});
  return computed_exactly(c, x, [&](const Expr& e) { return gelu_of_tanh(c, e); });
}

}  // namespace relay::frontend
