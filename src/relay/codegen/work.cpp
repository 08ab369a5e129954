#include "relay/codegen/work.h"

#include <algorithm>

namespace relay::codegen {

using scalar::Expr;
using scalar::Kind;

static double times(const Expr& count) {
  return scalar::is_int(count) ? std::max<double>(static_cast<double>(count->ivalue), 0) : 1;
}

static double operations(const Expr& e) {
  constexpr double function = 16;  // of an expanded exp, tanh, ..
  double sum = 0;
  scalar::visit(e, [&](const Expr& n) {
    switch (n->kind) {
      case Kind::Unary: sum += n->unary > scalar::UnaryOp::Sign ? function : 1; break;
      case Kind::Binary:
      case Kind::Select:
      case Kind::Cast:
      case Kind::Load: sum += 1; break;
      case Kind::Dot: sum += static_cast<double>(n->args.size()); break;
      default: break;
    }
  });
  return sum;
}

static double operations(const loop::Stmt& s) {
  double sum = 0;
  if (s->kind == loop::StmtKind::Store) sum = 1;
  if (s->kind == loop::StmtKind::Store || s->kind == loop::StmtKind::Let) sum += operations(s->value);
  for (const loop::Stmt& inner : s->body) sum += operations(inner);
  const bool repeats = s->kind == loop::StmtKind::For && s->for_kind != loop::ForKind::Vectorised;
  return repeats ? sum * times(s->extent) : sum;
}

double operations(const loop::Kernel& kernel) { return operations(kernel.body) * times(kernel.tasks); }

}  // namespace relay::codegen
