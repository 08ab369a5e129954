// Constructors and traversal of loop statements. Statements are immutable; rewrite() shares unchanged parts.
#include "relay/loop/loop.h"

namespace relay::loop {

// Bounds and indices are index arithmetic; a variable is what it was made for.
static Stmt build(StmtNode node) {
  for (Expr& e : node.indices) e = scalar::as_index(std::move(e));
  if (node.kind == StmtKind::For)
    node.min = scalar::as_index(std::move(node.min)), node.extent = scalar::as_index(std::move(node.extent));
  if (node.kind == StmtKind::Let)
    node.value = node.var->index ? scalar::as_index(std::move(node.value)) : scalar::as_data(std::move(node.value));
  if (node.kind == StmtKind::Store) node.value = Expr(scalar::without_relabel(node.value));
  return Stmt(new StmtNode(std::move(node)));
}

Stmt for_(Expr var, Expr min, Expr extent, ForKind kind, Stmt body) {
  StmtNode n;
  n.kind = StmtKind::For, n.for_kind = kind;
  n.var = std::move(var), n.min = std::move(min), n.extent = std::move(extent), n.body = {std::move(body)};
  return build(std::move(n));
}

Stmt store(BufferRef buffer, Exprs indices, Expr value, Expr mask) {
  StmtNode n;
  n.kind = StmtKind::Store;
  n.buffer = std::move(buffer), n.indices = std::move(indices), n.value = std::move(value),
  n.condition = std::move(mask);
  return build(std::move(n));
}

Stmt let(Expr var, Expr value, Stmt body) {
  StmtNode n;
  n.kind = StmtKind::Let;
  n.var = std::move(var), n.value = std::move(value), n.body = {std::move(body)};
  return build(std::move(n));
}

Stmt if_(Expr condition, Stmt then, Stmt otherwise) {
  if (condition->kind == scalar::Kind::Int) return condition->ivalue ? then : otherwise ? otherwise : block({});
  StmtNode n;
  n.kind = StmtKind::If;
  n.condition = std::move(condition), n.body = {std::move(then)};
  if (otherwise) n.body.push_back(std::move(otherwise));
  return build(std::move(n));
}

Stmt alloc(BufferRef buffer, Stmt body) {
  StmtNode n;
  n.kind = StmtKind::Alloc;
  n.buffer = std::move(buffer), n.body = {std::move(body)};
  return build(std::move(n));
}

Stmt block(Stmts stmts) {
  StmtNode n;
  n.kind = StmtKind::Block;
  for (Stmt& s : stmts) {
    if (!s) continue;
    if (s->kind == StmtKind::Block)
      n.body.insert(n.body.end(), s->body.begin(), s->body.end());
    else
      n.body.push_back(std::move(s));
  }
  return n.body.size() == 1 ? n.body[0] : build(std::move(n));
}

Stmt prefetch(BufferRef buffer, Exprs indices) {
  StmtNode n;
  n.kind = StmtKind::Prefetch;
  n.buffer = std::move(buffer), n.indices = std::move(indices);
  return build(std::move(n));
}

Stmt barrier() {
  StmtNode n;
  n.kind = StmtKind::Barrier;
  return build(std::move(n));
}

Stmt async_copy(BufferRef to, Exprs indices, Expr from, int64_t elements) {
  StmtNode n;
  n.kind = StmtKind::AsyncCopy;
  n.buffer = std::move(to), n.indices = std::move(indices), n.value = std::move(from), n.extent = scalar::imm(elements);
  return build(std::move(n));
}

Stmt commit() {
  StmtNode n;
  n.kind = StmtKind::Commit;
  return build(std::move(n));
}

Stmt wait(int64_t groups) {
  StmtNode n;
  n.kind = StmtKind::Wait, n.extent = scalar::imm(groups);
  return build(std::move(n));
}

BufferRef buffer(std::string name, DType dtype, Exprs shape, Scope scope) {
  Buffer b;
  b.name = std::move(name), b.dtype = dtype, b.shape = std::move(shape), b.scope = scope;
  return make<Buffer>(std::move(b));
}

static bool is_empty(const Stmt& s) { return !s || (s->kind == StmtKind::Block && s->body.empty()); }

// The elements after `f`; unset if f changes none.
template <class T, class F>
static std::optional<std::vector<T>> changed(const std::vector<T>& elements, F&& f) {
  std::optional<std::vector<T>> out;
  for (size_t i = 0; i < elements.size(); ++i) {
    T now = f(elements[i]);
    if (!out && now == elements[i]) continue;
    if (!out) out = elements;
    (*out)[i] = std::move(now);
  }
  return out;
}

Stmt rewrite(const Stmt& s, function_ref<Stmt(const Stmt&)> on_stmt, function_ref<Expr(const Expr&)> on_expr) {
  auto now = [&](const Expr& e) { return e ? on_expr(e) : e; };
  Expr min = now(s->min), extent = now(s->extent), value = now(s->value), condition = now(s->condition);
  std::optional<Exprs> indices = changed(s->indices, on_expr);
  std::optional<Stmts> body = changed(s->body, [&](const Stmt& b) { return rewrite(b, on_stmt, on_expr); });
  const bool same = min == s->min && extent == s->extent && value == s->value && condition == s->condition;
  if (same && !indices && !body) return on_stmt(s);
  StmtNode n = *s;
  n.min = std::move(min), n.extent = std::move(extent);
  n.value = std::move(value), n.condition = std::move(condition);
  if (indices) n.indices = *std::move(indices);
  if (body) n.body = *std::move(body);
  for (Stmt& b : n.body)
    if (!b) b = block({});
  Stmt rebuilt;
  if (n.kind == StmtKind::Block)
    rebuilt = block(std::move(n.body));
  else if (n.kind == StmtKind::If)
    rebuilt = if_(n.condition, n.body[0], n.body.size() > 1 && !is_empty(n.body[1]) ? n.body[1] : Stmt{});
  else
    rebuilt = build(std::move(n));
  return on_stmt(rebuilt);
}

void visit(const Stmt& s, function_ref<void(const Stmt&)> on_stmt, function_ref<void(const Expr&)> on_expr) {
  on_stmt(s);
  for (const Expr* e : {&s->min, &s->extent, &s->value, &s->condition})
    if (*e) on_expr(*e);
  for (const Expr& e : s->indices) on_expr(e);
  for (const Stmt& b : s->body) visit(b, on_stmt, on_expr);
}

Stmt substitute(const Stmt& s, const std::vector<scalar::Binding>& bindings) {
  return rewrite(s, [](const Stmt& n) { return n; }, [&](const Expr& e) { return scalar::substitute(e, bindings); });
}

Stmt redirect(const Stmt& s, function_ref<Access(const Access&)> now) {
  auto same = [](const Access& a, const Access& b) { return a.source == b.source && a.indices == b.indices; };
  return rewrite(
      s,
      [&](const Stmt& n) -> Stmt {
        if (n->kind != StmtKind::Store && n->kind != StmtKind::Prefetch && n->kind != StmtKind::AsyncCopy) return n;
        const Access was{n->buffer, n->indices};
        Access to = now(was);
        if (same(was, to)) return n;
        BufferRef buffer(static_cast<const Buffer*>(to.source.get()));
        if (n->kind == StmtKind::Prefetch) return prefetch(std::move(buffer), std::move(to.indices));
        if (n->kind == StmtKind::AsyncCopy)
          return async_copy(std::move(buffer), std::move(to.indices), n->value, n->extent->ivalue);
        return store(std::move(buffer), std::move(to.indices), n->value, n->condition);
      },
      [&](const Expr& root) {
        return scalar::rewrite(root, [&](const Expr& e) -> Expr {
          if (e->kind != scalar::Kind::Load) return e;
          const Access was{e->source, e->args};
          Access to = now(was);
          return same(was, to) ? e : scalar::load(std::move(to.source), std::move(to.indices));
        });
      });
}

}  // namespace relay::loop
