// Replaces exp, tanh, erf, log, sin, ... by polynomials (see scalar/math.h for their errors), and conversions of
// integers of few bits by arithmetic on the bits of floats (scalar/few_bits.h).
#include "relay/loop/loop.h"
#include "relay/scalar/few_bits.h"
#include "relay/scalar/math.h"

namespace relay::loop {

Kernel expand_math(const Kernel& k) {
  Kernel out = k;
  const auto with_few_bits = [](const Expr& e) {
    return scalar::rewrite(e, [](const Expr& n) {
      const Expr made = scalar::few_bits_as_float(n);
      return made ? made : n;
    });
  };
  out.body = rewrite(
      k.body, [](const Stmt& s) { return s; }, [&](const Expr& e) { return with_few_bits(scalar::expand_math(e)); });
  return out;
}

}  // namespace relay::loop
