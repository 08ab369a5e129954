#include "relay/codegen/rolled.h"

#include <unordered_map>

namespace relay::codegen {

loop::Kernel rolled(const loop::Kernel& kernel) {
  std::unordered_map<const scalar::Source*, loop::BufferRef> in_memory;
  loop::visit(
      kernel.body,
      [&](const loop::Stmt& s) {
        if (s->kind != loop::StmtKind::Alloc || s->buffer->scope != loop::Scope::Register) return;
        in_memory[s->buffer.get()] =
            loop::buffer(s->buffer->name, s->buffer->dtype, s->buffer->shape, loop::Scope::Stack);
      },
      [](const scalar::Expr&) {});
  loop::Kernel out = kernel;
  out.body = loop::redirect(kernel.body, [&](const loop::Access& access) {
    const auto found = in_memory.find(access.source.get());
    return found == in_memory.end() ? access : loop::Access{found->second, access.indices};
  });
  out.body = loop::rewrite(
      out.body,
      [&](const loop::Stmt& s) {
        if (s->kind == loop::StmtKind::For && s->for_kind == loop::ForKind::Unrolled)
          return loop::for_(s->var, s->min, s->extent, loop::ForKind::Serial, s->body[0]);
        if (s->kind == loop::StmtKind::Alloc)
          if (const auto found = in_memory.find(s->buffer.get()); found != in_memory.end())
            return loop::alloc(found->second, s->body[0]);
        return s;
      },
      [](const scalar::Expr& e) { return e; });
  return out;
}

}  // namespace relay::codegen
