// Simplifies every expression by the ranges of the enclosing loops' variables, and drops dead code: loops without
// iterations, branches never taken, stores with an empty mask, values and arrays that are never read.
//
//   for i in 0..4 { if i < 8 { a[(i * 2) // 2] = 1f } }    becomes    for i in 0..4 { a[i] = 1f }
#include <unordered_set>

#include "relay/base/diagnostics.h"
#include "relay/loop/loop.h"

namespace relay::loop {
namespace {

using scalar::BinaryOp;
using scalar::Bounds;
using scalar::Interval;
using scalar::Kind;

bool is_empty(const Stmt& s) { return s->kind == StmtKind::Block && s->body.empty(); }

// The value of a mask or condition that is the same constant in every lane.
std::optional<bool> constant_condition(const Expr& e) {
  const Expr& c = e->kind == Kind::Broadcast ? e->args[0] : e;
  if (c->kind != Kind::Int) return std::nullopt;
  return c->ivalue != 0;
}

bool uses(const Stmt& s, const Expr& var) {
  bool found = false;
  visit(
      s, [](const Stmt&) {},
      [&](const Expr& e) {
        if (!found) scalar::visit(e, [&](const Expr& n) { found |= n == var; });
      });
  return found;
}

bool reads(const Stmt& s, const BufferRef& buffer) {
  bool found = false;
  visit(
      s, [](const Stmt&) {},
      [&](const Expr& e) {
        if (!found) scalar::visit(e, [&](const Expr& n) { found |= n->kind == Kind::Load && n->source == buffer; });
      });
  return found;
}

Stmt drop_stores(const Stmt& s, const BufferRef& buffer) {
  return rewrite(
      s,
      [&](const Stmt& n) -> Stmt {
        const bool stores = n->kind == StmtKind::Store || n->kind == StmtKind::AsyncCopy;
        return stores && n->buffer == buffer ? block({}) : n;
      },
      [](const Expr& e) { return e; });
}

// Adds the bounds that `condition` implies for single variables.
void assume(const Expr& condition, Bounds& bounds) {
  if (condition->kind != Kind::Binary) return;
  const Expr &a = condition->args[0], &b = condition->args[1];
  if (condition->binary == BinaryOp::And) return assume(a, bounds), assume(b, bounds);
  if (condition->binary != BinaryOp::Lt && condition->binary != BinaryOp::Le) return;
  int64_t strict = condition->binary == BinaryOp::Lt;
  if (scalar::is_var(a)) {
    Interval known = scalar::interval(a, bounds), right = scalar::interval(b, bounds);
    if (right.max) known.max = std::min(known.max.value_or(*right.max - strict), *right.max - strict);
    bounds.set(a, known);
  } else if (scalar::is_var(b)) {
    Interval known = scalar::interval(b, bounds), left = scalar::interval(a, bounds);
    if (left.min) known.min = std::max(known.min.value_or(*left.min + strict), *left.min + strict);
    bounds.set(b, known);
  }
}

Stmt simplify_stmt(const Stmt& s, const Bounds& bounds) {
  auto simple = [&](const Expr& e) { return scalar::simplify(e, bounds); };
  switch (s->kind) {
    case StmtKind::For: {
      Expr min = simple(s->min), extent = simple(s->extent);
      Interval range = scalar::interval(extent, bounds);
      if (range.max && *range.max <= 0) return block({});
      const bool remains = s->for_kind == ForKind::Tile || s->for_kind == ForKind::Thread;
      if (scalar::is_int(extent, 1) && !remains) return simplify_stmt(substitute(s->body[0], {{s->var, min}}), bounds);
      Bounds inner = bounds;
      Interval last = scalar::interval(scalar::simplify(min + extent - 1, bounds), bounds);
      if (remains && last.max) last.max = std::max<int64_t>(*last.max, 1);  // its variable remains
      inner.set(s->var, {scalar::interval(min, bounds).min, last.max});
      Stmt body = simplify_stmt(s->body[0], inner);
      return is_empty(body) ? body : for_(s->var, min, extent, s->for_kind, body);
    }
    case StmtKind::Store: {
      Expr mask = s->condition ? simple(s->condition) : Expr{};
      if (mask)
        if (std::optional<bool> constant = constant_condition(mask)) {
          if (!*constant) return block({});
          mask = {};
        }
      Exprs indices;
      for (const Expr& e : s->indices) indices.push_back(simple(e));
      return store(s->buffer, std::move(indices), simple(s->value), mask);
    }
    case StmtKind::Let: {
      Expr value = simple(s->value);
      bool trivial = value->kind == Kind::Int || value->kind == Kind::Float || value->kind == Kind::Var;
      if (trivial) return simplify_stmt(substitute(s->body[0], {{s->var, value}}), bounds);
      Bounds inner = bounds;
      if (value->dtype == DType::int64()) inner.set(s->var, scalar::interval(value, bounds));
      Stmt body = simplify_stmt(s->body[0], inner);
      return uses(body, s->var) ? let(s->var, value, body) : body;
    }
    case StmtKind::If: {
      Expr condition = simple(s->condition);
      if (std::optional<bool> constant = constant_condition(condition)) {
        if (*constant) return simplify_stmt(s->body[0], bounds);
        return s->body.size() > 1 ? simplify_stmt(s->body[1], bounds) : block({});
      }
      Bounds inner = bounds;
      assume(condition, inner);
      Stmt then = simplify_stmt(s->body[0], inner);
      Stmt otherwise = s->body.size() > 1 ? simplify_stmt(s->body[1], bounds) : Stmt{};
      if (otherwise && is_empty(otherwise)) otherwise = {};
      if (is_empty(then)) {
        if (!otherwise) return then;
        return if_(scalar::unary(scalar::UnaryOp::Not, condition), otherwise);
      }
      return if_(condition, then, otherwise);
    }
    case StmtKind::Alloc: {
      Stmt body = simplify_stmt(s->body[0], bounds);
      return reads(body, s->buffer) ? alloc(s->buffer, body) : drop_stores(body, s->buffer);
    }
    case StmtKind::Block: {
      Stmts parts;
      for (const Stmt& b : s->body) parts.push_back(simplify_stmt(b, bounds));
      return block(std::move(parts));
    }
    case StmtKind::Prefetch: {
      Exprs indices;
      for (const Expr& e : s->indices) indices.push_back(simple(e));
      return prefetch(s->buffer, std::move(indices));
    }
    case StmtKind::AsyncCopy: {
      Exprs indices, from;
      for (const Expr& e : s->indices) indices.push_back(simple(e));
      for (const Expr& e : s->value->args) from.push_back(simple(e));
      return async_copy(s->buffer, std::move(indices), scalar::load(s->value->source, std::move(from)),
                        s->extent->ivalue);
    }
    case StmtKind::Barrier:
    case StmtKind::Commit:
    case StmtKind::Wait: return s;
  }
  return s;
}

}  // namespace

Kernel simplify(const Kernel& k) {
  Kernel out = k;
  out.tasks = scalar::simplify(k.tasks);
  Bounds bounds;
  Interval tasks = scalar::interval(out.tasks);
  bounds.set(k.task, {0, tasks.max ? std::optional<int64_t>(*tasks.max - 1) : std::nullopt});
  if (tasks.max && *tasks.max == 1) out.body = substitute(out.body, {{k.task, scalar::imm(0)}});
  out.body = simplify_stmt(out.body, bounds);
  return out;
}

}  // namespace relay::loop
