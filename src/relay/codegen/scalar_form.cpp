#include "relay/codegen/scalar_form.h"

#include "relay/loop/blocks.h"
#include "relay/loop/spread.h"
#include "relay/loop/tiles.h"
#include "relay/loop/warp_tiles.h"
#include "relay/scalar/simplify.h"

namespace relay::codegen {

using loop::Buffer;
using loop::ForKind;
using loop::Scope;
using loop::Stmt;
using loop::StmtKind;
using scalar::Expr;
using scalar::Exprs;

loop::Kernel without_dots(loop::Kernel kernel) {
  if (loop::has_tiles(kernel)) kernel = loop::without_tiles(kernel);
  auto expanded = [](const Expr& e) { return e->kind == scalar::Kind::Dot ? scalar::without_dot(e) : e; };
  kernel.body = loop::rewrite(
      kernel.body, [](const Stmt& s) { return s; }, [&](const Expr& e) { return scalar::rewrite(e, expanded); });
  return kernel;
}

// Elements of one tile. No processor has more registers for scalars.
constexpr int64_t most_scalars = 64;

bool may_be_scalars(const Buffer& buffer) {
  if (buffer.scope != Scope::Register) return false;
  int64_t elements = 1;
  for (const Expr& e : buffer.shape) elements *= scalar::is_int(e) ? e->ivalue : most_scalars + 1;
  return elements <= most_scalars;
}

void for_each_access(const Stmt& s, function_ref<void(const Buffer&, const Exprs&, bool)> visit) {
  loop::visit(
      s,
      [&](const Stmt& inner) {
        if (inner->kind == StmtKind::Store || inner->kind == StmtKind::AsyncCopy)
          visit(*inner->buffer, inner->indices, true);
      },
      [&](const Expr& e) {
        scalar::visit(e, [&](const Expr& n) {
          if (n->kind == scalar::Kind::Load) visit(static_cast<const Buffer&>(*n->source), n->args, false);
        });
      });
}

static bool indexes_a_tile(const Stmt& body, const Expr& var) {
  bool found = false;
  for_each_access(body, [&](const Buffer& buffer, const Exprs& indices, bool) {
    if (found || !may_be_scalars(buffer)) return;
    for (const Expr& index : indices) scalar::visit(index, [&](const Expr& n) { found = found || n == var; });
  });
  return found;
}

loop::Kernel with_scalar_tiles(const loop::Kernel& kernel, bool keep_lanes) {
  loop::Kernel out = kernel;
  out.body = loop::rewrite(
      kernel.body,
      [&](const Stmt& s) -> Stmt {
        if (s->kind != StmtKind::For || s->for_kind == ForKind::Serial) return s;
        if (s->for_kind == ForKind::Block || s->for_kind == ForKind::Thread || s->for_kind == ForKind::Tile) return s;
        if (keep_lanes && s->for_kind == ForKind::Vectorised) return s;
        const Expr extent = scalar::simplify(s->extent);
        if (!scalar::is_int(extent) || extent->ivalue > most_scalars || !indexes_a_tile(s->body[0], s->var)) return s;
        loop::Stmts copies;
        for (int64_t i = 0; i < extent->ivalue; ++i)
          copies.push_back(loop::substitute(s->body[0], {{s->var, scalar::simplify(s->min + i)}}));
        return loop::block(std::move(copies));
      },
      [](const Expr& e) { return e; });
  return out;
}

// Products of warps stay as they are, with tiles for their operands.
static loop::Kernel with_warp_tiles(const loop::Kernel& kernel) {
  Result<loop::Kernel> done = loop::with_operand_tiles(loop::unroll(kernel));
  RELAY_CHECK(done, "kernel {} was not checked: {}", kernel.name, done.errors()[0].message);
  return *std::move(done);
}

DeviceForm device_form(const loop::Kernel& kernel, bool fine_tasks) {
  if (loop::has_blocks(kernel)) {
    const loop::Kernel scalars = loop::has_warp_tiles(kernel) ? with_warp_tiles(kernel) : without_dots(kernel);
    loop::BoundKernel bound = loop::bind(loop::simplify(loop::expand_math(with_scalar_tiles(scalars, false))));
    return {std::move(bound.kernel), bound.per_task, bound.thread, bound.threads};
  }
  loop::FineTasks tasks{without_dots(kernel), scalar::imm(1)};
  if (fine_tasks) tasks = loop::spread(tasks.kernel);
  return {loop::simplify(loop::expand_math(with_scalar_tiles(tasks.kernel, false))), tasks.per_task};
}

}  // namespace relay::codegen
