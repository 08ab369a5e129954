#include "relay/loop/blocks.h"

namespace relay::loop {

static bool is_bound(const Stmt& s) {
  return s->kind == StmtKind::For && (s->for_kind == ForKind::Block || s->for_kind == ForKind::Thread);
}

std::vector<Stmt> bound_loops(const Kernel& kernel) {
  std::vector<Stmt> out;
  visit(
      kernel.body,
      [&](const Stmt& s) {
        if (is_bound(s)) out.push_back(s);
      },
      [](const Expr&) {});
  return out;
}

bool has_blocks(const Kernel& kernel) { return !bound_loops(kernel).empty(); }

int64_t threads_of(const Kernel& kernel) {
  int64_t threads = 1;
  for (const Stmt& s : bound_loops(kernel))
    if (s->for_kind == ForKind::Thread) threads *= scalar::simplify(s->extent)->ivalue;
  return threads;
}

int64_t shared_bytes(const Kernel& kernel) {
  int64_t all = 0;
  visit(
      kernel.body,
      [&](const Stmt& s) {
        if (s->kind != StmtKind::Alloc || s->buffer->scope != Scope::Shared) return;
        int64_t bytes = s->buffer->dtype.bytes();
        for (const Expr& e : s->buffer->shape) bytes *= e->ivalue;
        all += (bytes + 63) / 64 * 64;
      },
      [](const Expr&) {});
  return all;
}

bool is_for_all_threads(const Stmt& s) {
  bool found = false;
  visit(
      s,
      [&](const Stmt& n) {
        found |= n->kind == StmtKind::Barrier || (n->kind == StmtKind::Alloc && n->buffer->scope == Scope::Shared);
      },
      [](const Expr&) {});
  return found;
}

namespace {

// The number of an iteration of one of the loops of `path`, outermost first, from the number of all.
struct Digits {
  Expr all;                      // the number
  Expr inside = scalar::imm(1);  // the iterations of the loops inside

  // Called from the innermost loop on. `first`: no other loop is around it.
  Expr next(const Stmt& loop, bool first) {
    const Expr rest = scalar::floordiv(all, inside);
    inside = scalar::simplify(inside * loop->extent);
    return scalar::simplify(first ? rest : scalar::floormod(rest, loop->extent));
  }
};

}  // namespace

BoundKernel bind(const Kernel& k) {
  Stmts path;  // to the innermost bound loop
  Stmt rest = k.body;
  const size_t count = bound_loops(k).size();
  for (size_t found = 0; found < count; rest = rest->body[0]) {
    RELAY_CHECK(rest->body.size() == 1, "the loops over blocks and threads of kernel {} are not its outermost ones",
                k.name);
    path.push_back(rest);
    found += is_bound(rest);
  }
  BoundKernel out{k, scalar::imm(1), scalar::var("thread"), threads_of(k)};
  out.kernel.task = scalar::var("block");
  auto is_first = [&](size_t i) {
    for (size_t outer = 0; outer < i; ++outer)
      if (is_bound(path[outer]) && path[outer]->for_kind == path[i]->for_kind) return false;
    return path[i]->for_kind == ForKind::Thread || scalar::is_int(scalar::simplify(k.tasks), 1);
  };
  Digits blocks{out.kernel.task}, threads{out.thread};
  for (size_t i = path.size(); i-- > 0;) {
    const Stmt& s = path[i];
    if (s->kind == StmtKind::Let)
      rest = let(s->var, s->value, rest);
    else if (s->kind == StmtKind::Alloc)
      rest = alloc(s->buffer, rest);
    else
      rest = let(s->var, (s->for_kind == ForKind::Block ? blocks : threads).next(s, is_first(i)), rest);
  }
  out.per_task = blocks.inside;
  out.kernel.tasks = scalar::simplify(k.tasks * out.per_task);
  out.kernel.body = let(k.task, scalar::simplify(scalar::floordiv(out.kernel.task, out.per_task)), rest);
  return out;
}

}  // namespace relay::loop
