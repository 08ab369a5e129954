// Replaces exp, tanh, erf, log, sin, ... by polynomials (see scalar/math.h for their errors).
#include "relay/loop/loop.h"
#include "relay/scalar/math.h"

namespace relay::loop {

Kernel expand_math(const Kernel& k) {
  Kernel out = k;
  out.body = rewrite(k.body, [](const Stmt& s) { return s; }, [](const Expr& e) { return scalar::expand_math(e); });
  return out;
}

}  // namespace relay::loop
