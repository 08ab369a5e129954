// Moves loads of read-only arrays and float arithmetic out of innermost loops that they do not depend on.
//
//   for x in 0..n { y[x] = a[x] * rsqrt(v[c] + 1e-5f) }
//   becomes
//   let h = rsqrt(v[c] + 1e-5f)  for x in 0..n { y[x] = a[x] * h }
//
// A load moves only if the loop runs at least once and the load is evaluated in every iteration, so no additional
// memory is read. Integer arithmetic needs no pass: code generation places it at the outermost loop that defines its
// variables. Only innermost loops, because a value kept over an inner loop costs that loop a register.
#include <unordered_map>
#include <unordered_set>

#include "relay/base/diagnostics.h"
#include "relay/loop/loop.h"

namespace relay::loop {
namespace {

using scalar::Kind;

constexpr size_t limit = 12;  // values kept over one loop

struct Facts {
  std::unordered_set<const scalar::Node*> inner;      // variables defined inside the loop
  std::unordered_set<const scalar::Source*> written;  // arrays stored anywhere in the kernel, and local ones
  bool loads_may_move = false;
};

class Hoister {
 public:
  explicit Hoister(const Facts& facts) : facts_(facts) {}

  struct Moved {
    Expr var, value;
  };
  std::vector<Moved> moved;

  Stmt stmt(const Stmt& s, bool always) {
    switch (s->kind) {
      case StmtKind::Store: {
        Exprs indices;
        for (const Expr& e : s->indices) indices.push_back(expr(e, always));
        return store(s->buffer, std::move(indices), expr(s->value, always && !s->condition),
                     s->condition ? expr(s->condition, always) : Expr{});
      }
      case StmtKind::Let: {
        Expr value = expr(s->value, always);
        return let(s->var, value, stmt(s->body[0], always));
      }
      case StmtKind::If:
        return if_(expr(s->condition, always), stmt(s->body[0], false),
                   s->body.size() > 1 ? stmt(s->body[1], false) : Stmt{});
      case StmtKind::Alloc: return alloc(s->buffer, stmt(s->body[0], always));
      case StmtKind::Block: {
        Stmts parts;
        for (const Stmt& b : s->body) parts.push_back(stmt(b, always));
        return block(std::move(parts));
      }
      case StmtKind::For:
      case StmtKind::Prefetch:
      case StmtKind::Barrier:
      case StmtKind::AsyncCopy:
      case StmtKind::Commit:
      case StmtKind::Wait: break;
    }
    return s;
  }

 private:
  // Replaces the largest movable parts of e. `always`: e is evaluated in every iteration. Shared nodes are done once.
  Expr expr(const Expr& e, bool always) {
    if (e->args.empty()) return e;
    std::pair<const scalar::Node*, bool> key{e.get(), always};
    if (auto it = done_.find(key); it != done_.end()) return it->second.second;
    Expr result = replace(e, always);
    done_.insert({key, {e, result}});
    return result;
  }

  Expr replace(const Expr& e, bool always) {
    if (e->kind == Kind::Dot) return e;  // its factors are read together
    if (worth(e) && movable(e, always)) {
      for (const Moved& m : moved)
        if (m.value == e || (m.value->kind == Kind::Load && scalar::equal(m.value, e))) return m.var;
      if (moved.size() == limit) return e;
      moved.push_back({scalar::var_like("h", e), e});
      return moved.back().var;
    }
    Exprs args;
    for (size_t i = 0; i < e->args.size(); ++i)
      args.push_back(expr(e->args[i], always && !(e->kind == Kind::Select && i > 0)));
    return scalar::with_args(e, std::move(args));
  }

  static bool worth(const Expr& e) {
    switch (e->kind) {
      case Kind::Load: return true;
      case Kind::Broadcast: return worth(e->args[0]);
      case Kind::Unary:
      case Kind::Binary:
      case Kind::Select:
      case Kind::Cast:
      case Kind::Reinterpret: return e->dtype.is_float();
      default: return false;
    }
  }

  bool movable(const Expr& root, bool always) {
    auto it = movable_.find(root.get());
    if (it == movable_.end()) {
      scalar::visit(root, [&](const Expr& e) {  // arguments first, shared nodes once
        if (movable_.count(e.get())) return;
        Movable m{e, e->kind == Kind::Load, false};
        m.fixed = (e->kind == Kind::Var && facts_.inner.count(e.get())) ||
                  (e->kind == Kind::Load && facts_.written.count(e->source.get()));
        for (const Expr& a : e->args) {
          const Movable& of_arg = movable_.at(a.get());
          m.loads |= of_arg.loads, m.fixed |= of_arg.fixed;
        }
        movable_.insert({e.get(), std::move(m)});
      });
      it = movable_.find(root.get());
    }
    return !it->second.fixed && (!it->second.loads || (always && facts_.loads_may_move));
  }

  struct Movable {
    Expr keep;  // the key's node
    bool loads, fixed;
  };
  struct KeyHash {
    size_t operator()(const std::pair<const scalar::Node*, bool>& k) const {
      return std::hash<const void*>()(k.first) * 2 + k.second;
    }
  };
  std::unordered_map<const scalar::Node*, Movable> movable_;
  std::unordered_map<std::pair<const scalar::Node*, bool>, std::pair<Expr, Expr>, KeyHash> done_;
  const Facts& facts_;
};

bool has_loop(const Stmt& s) {
  bool found = false;
  visit(s, [&](const Stmt& n) { found |= n->kind == StmtKind::For; }, [](const Expr&) {});
  return found;
}

}  // namespace

Kernel hoist(const Kernel& k) {
  Facts facts;
  visit(
      k.body,
      [&](const Stmt& s) {
        if (s->kind == StmtKind::Store || s->kind == StmtKind::AsyncCopy || s->kind == StmtKind::Alloc)
          facts.written.insert(s->buffer.get());
      },
      [](const Expr&) {});
  Kernel out = k;
  out.body = rewrite(
      k.body,
      [&](const Stmt& s) -> Stmt {
        if (s->kind != StmtKind::For || s->for_kind != ForKind::Serial || has_loop(s->body[0])) return s;
        Facts here = facts;
        here.inner.insert(s->var.get());
        visit(
            s->body[0],
            [&](const Stmt& n) {
              if (n->var) here.inner.insert(n->var.get());
            },
            [](const Expr&) {});
        std::optional<int64_t> least = scalar::interval(s->extent).min;
        here.loads_may_move = least && *least >= 1;
        Hoister hoister(here);
        Stmt body = hoister.stmt(s->body[0], true);
        if (hoister.moved.empty()) return s;
        Stmt result = for_(s->var, s->min, s->extent, s->for_kind, body);
        for (size_t i = hoister.moved.size(); i-- > 0;)
          result = let(hoister.moved[i].var, hoister.moved[i].value, result);
        return result;
      },
      [](const Expr& e) { return e; });
  return out;
}

}  // namespace relay::loop
