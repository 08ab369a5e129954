#include "relay/codegen/codegen.h"
#include "relay/codegen/registers.h"
#include "relay/codegen/tile_plan.h"
#include "relay/loop/tiles.h"
#include "relay/scalar/simplify.h"

namespace relay::codegen {

// Unrolls loops, and gives the operands of products on tiles tiles of their own.
static Result<loop::Kernel> unrolled(const loop::Kernel& kernel, const TargetDesc& target) {
  if (!loop::has_tiles(kernel)) return loop::unroll(kernel);
  return loop::with_operand_tiles(loop::unroll(kernel), tile_limits(target));
}

loop::Kernel finish(Prepared prepared, const TargetDesc& target) {
  loop::Kernel k = std::move(prepared.kernel);
  if (prepared.step == Prepared::Step::Lowered) {
    Result<loop::Kernel> done = unrolled(k, target);
    RELAY_CHECK(done, "kernel {} was not checked: {}", k.name, done.errors()[0].message);
    k = loop::vectorise(*done);
  }
  if (prepared.step != Prepared::Step::Final) k = loop::hoist(loop::simplify(loop::expand_math(k)));
  return k;
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

Result<Prepared> check(const loop::Kernel& kernel, const TargetDesc& target) {
  bool registers = loop::has_tiles(kernel);
  loop::visit(
      kernel.body,
      [&](const loop::Stmt& s) {
        registers = registers || (s->kind == loop::StmtKind::Alloc && s->buffer->scope == loop::Scope::Register);
      },
      [](const scalar::Expr&) {});
  if (!registers) return Prepared{kernel};
  RELAY_ASSIGN(const loop::Kernel with_tiles, unrolled(kernel, target));
  RELAY_RETURN_IF_ERROR(plan_tiles(with_tiles, target));
  Prepared unrolled{loop::vectorise(with_tiles), Prepared::Step::Unrolled};
  // The other passes, which are expensive, only remove accesses: if it fits without them, it fits with them.
  if (plan_registers(unrolled.kernel, target)) return unrolled;
  Prepared final{finish(std::move(unrolled), target), Prepared::Step::Final};
  RELAY_RETURN_IF_ERROR(plan_registers(final.kernel, target));
  return final;
}

}  // namespace relay::codegen
