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

// A serial loop is one copy of its body, and one that is unrolled as many as it has iterations.
static Work work(const loop::Stmt& s) {
  Work sum;
  if (s->kind == loop::StmtKind::Store) sum.instructions = 1;
  if (s->kind == loop::StmtKind::Store || s->kind == loop::StmtKind::Let) sum.instructions += operations(s->value);
  sum.operations = sum.instructions;
  for (const loop::Stmt& inner : s->body) {
    const Work more = work(inner);
    sum.operations += more.operations, sum.instructions += more.instructions;
  }
  if (s->kind == loop::StmtKind::For && s->for_kind != loop::ForKind::Vectorised) {
    sum.operations *= times(s->extent);
    if (s->for_kind == loop::ForKind::Unrolled) sum.instructions *= times(s->extent);
  }
  return sum;
}

Work work(const loop::Kernel& kernel) {
  Work sum = work(kernel.body);
  sum.operations *= times(kernel.tasks);
  return sum;
}

}  // namespace relay::codegen
