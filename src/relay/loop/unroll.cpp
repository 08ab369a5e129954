// Replaces every Unrolled loop by copies of its body with constant indices.
//
//   for i in 0..2 unrolled { a[i] = b[i] }    becomes    a[0] = b[0]  a[1] = b[1]
//
// The min may be any expression; the extent must be constant, otherwise the loop becomes a serial one (verify() reports
// it).
#include "relay/loop/loop.h"

namespace relay::loop {

Kernel unroll(const Kernel& k) {
  Kernel out = k;
  out.body = rewrite(
      k.body,
      [](const Stmt& s) -> Stmt {
        if (s->kind != StmtKind::For || s->for_kind != ForKind::Unrolled) return s;
        Expr extent = scalar::simplify(s->extent);
        if (!scalar::is_int(extent)) return for_(s->var, s->min, s->extent, ForKind::Serial, s->body[0]);
        Stmts copies;
        for (int64_t i = 0; i < extent->ivalue; ++i) copies.push_back(substitute(s->body[0], {{s->var, s->min + i}}));
        return block(std::move(copies));
      },
      [](const Expr& e) { return e; });
  return out;
}

}  // namespace relay::loop
