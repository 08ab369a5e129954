#include "relay/frontend/common/ops/norm.h"

#include "relay/frontend/common/ops/curves.h"

namespace relay::frontend {

using ir::Expr;
using ir::Ints;

Expr mean_square(Conversion& c, const Expr& x, const Ints& axes) {
  return c.reduce("mean", c.multiply(x, x), axes, true);
}

Expr standardised(Conversion& c, const Expr& x, const Ints& axes, double epsilon, DType least) {
  return computed_exactly(
      c, x,
      [&](const Expr& e) {
        Expr centred = c.subtract(e, c.reduce("mean", e, axes, true));
        return c.divide(centred, c.emit("sqrt", {c.add(mean_square(c, centred, axes), epsilon)}));
      },
      least);
}

Expr rms_normalised(Conversion& c, const Expr& x, const Ints& axes, double epsilon, DType least) {
  return computed_exactly(
      c, x, [&](const Expr& e) { return c.multiply(e, c.emit("rsqrt", {c.add(mean_square(c, e, axes), epsilon)})); },
      least);
}

}  // namespace relay::frontend
