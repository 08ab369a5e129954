#include "relay/codegen/codegen.h"
#include "relay/codegen/registers.h"
#include "relay/scalar/simplify.h"

namespace relay::codegen {

loop::Kernel prepare(const loop::Kernel& kernel, const TargetDesc&) {
  return loop::hoist(loop::simplify(loop::expand_math(loop::vectorise(loop::unroll(kernel)))));
}

// Arrays nest: one that is declared inside another's scope is stored behind it. In a vectorised loop each lane has its
// own.
static int64_t scratch_bytes(const loop::Stmt& s, int64_t lanes) {
  int64_t inside = 0, mine = 0;
  if (s->kind == loop::StmtKind::For && s->for_kind == loop::ForKind::Vectorised)
    if (scalar::Expr extent = scalar::simplify(s->extent); scalar::is_int(extent)) lanes *= extent->ivalue;
  if (s->kind == loop::StmtKind::Alloc && s->buffer->scope == loop::Scope::Scratch) {
    mine = s->buffer->dtype.bytes() * lanes;
    for (const scalar::Expr& e : s->buffer->shape) {
      RELAY_CHECK(scalar::is_int(e), "scratch array {} has a size that is not constant", s->buffer->name);
      mine *= e->ivalue;
    }
    mine = (mine + 63) / 64 * 64;
  }
  for (const loop::Stmt& b : s->body) inside = std::max(inside, scratch_bytes(b, lanes));
  return mine + inside;
}

int64_t scratch_bytes(const loop::Kernel& kernel) { return scratch_bytes(kernel.body, 1); }

Status check(const loop::Kernel& kernel, const TargetDesc& target) {
  bool registers = false;
  loop::visit(
      kernel.body,
      [&](const loop::Stmt& s) {
        registers = registers || (s->kind == loop::StmtKind::Alloc && s->buffer->scope == loop::Scope::Register);
      },
      [](const scalar::Expr&) {});
  // The other passes, which are expensive, only remove accesses: if it fits without them, it fits with them.
  if (!registers || plan_registers(loop::vectorise(loop::unroll(kernel)), target)) return ok();
  RELAY_RETURN_IF_ERROR(plan_registers(prepare(kernel, target), target));
  return ok();
}

}  // namespace relay::codegen
