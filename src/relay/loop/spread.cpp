#include "relay/loop/spread.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

namespace relay::loop {

namespace {

// An access of an array that a loop's body writes.
struct Touch {
  const Buffer* buffer;
  Exprs indices;
};

// The body of a loop: its accesses with all lets replaced by their values, and its inner loops.
struct Body {
  std::vector<Touch> touches;
  std::unordered_map<const Buffer*, bool> written;  // arrays of the caller
  Exprs vars;                                       // of inner loops
  scalar::Bounds bounds;                            // of those with constant ranges

  explicit Body(const Stmt& s) { add(s, {}); }

  void touch(const Buffer& buffer, const Exprs& indices, const std::vector<scalar::Binding>& lets) {
    Touch& made = touches.emplace_back(Touch{&buffer, {}});
    for (const Expr& index : indices) made.indices.push_back(scalar::substitute(index, lets));
  }
  void add_loads(const Expr& root, const std::vector<scalar::Binding>& lets) {
    if (!root) return;
    scalar::visit(root, [&](const Expr& e) {
      if (e->kind == scalar::Kind::Load) touch(static_cast<const Buffer&>(*e->source), e->args, lets);
    });
  }

  void add(const Stmt& s, std::vector<scalar::Binding> lets) {
    for (const Expr& e : {s->min, s->extent, s->value, s->condition}) add_loads(e, lets);
    switch (s->kind) {
      case StmtKind::For: {
        vars.push_back(s->var);
        const Expr min = scalar::simplify(s->min), extent = scalar::simplify(s->extent);
        if (scalar::is_int(min) && scalar::is_int(extent))
          bounds.set(s->var, min->ivalue, extent->ivalue);
        else
          bounds.set(s->var, scalar::Interval::everything());
        break;
      }
      case StmtKind::Let: lets.push_back({s->var, scalar::substitute(s->value, lets)}); break;
      case StmtKind::Store:
        for (const Expr& index : s->indices) add_loads(index, lets);
        touch(*s->buffer, s->indices, lets);
        if (s->buffer->scope == Scope::Param) written[s->buffer.get()] = true;
        break;
      default: break;
    }
    for (const Stmt& b : s->body) add(b, lets);
  }
};

bool has_load(const Expr& root) {
  bool found = false;
  scalar::visit(root, [&](const Expr& e) { found = found || e->kind == scalar::Kind::Load; });
  return found;
}

// True if the elements that an iteration touches have other indices in this dimension than those of every other
// iteration: c * v + [low, high] with high - low < c.
bool is_apart(const Body& body, const Buffer* buffer, size_t dimension, const Expr& v) {
  Exprs vars{v};
  vars.insert(vars.end(), body.vars.begin(), body.vars.end());
  std::optional<int64_t> step, low, high;
  Expr origin;
  for (const Touch& t : body.touches) {
    if (t.buffer != buffer) continue;
    const std::optional<scalar::Affine> index = scalar::as_affine(scalar::simplify(t.indices[dimension]), vars);
    if (!index || has_load(index->rest)) return false;
    if (!origin) origin = index->rest, step = index->coefficients[0];
    const Expr offset = scalar::simplify(index->rest - origin);
    if (!scalar::is_int(offset) || *step != index->coefficients[0] || *step == 0) return false;
    int64_t least = offset->ivalue, most = offset->ivalue;
    for (size_t i = 1; i < vars.size(); ++i) {
      const int64_t c = index->coefficients[i];
      if (c == 0) continue;
      const std::optional<scalar::Interval> range = body.bounds.find(vars[i]);
      if (!range || !range->min || !range->max) return false;
      least += c * (c > 0 ? *range->min : *range->max);
      most += c * (c > 0 ? *range->max : *range->min);
    }
    low = std::min(low.value_or(least), least), high = std::max(high.value_or(most), most);
  }
  return origin && *high - *low < std::abs(*step);
}

// True if iterations of the loop touch different elements of every array that they write.
bool is_independent(const Stmt& loop) {
  const Body body(loop->body[0]);
  for (const auto& [buffer, is_written] : body.written) {
    bool apart = false;
    for (size_t d = 0; d < buffer->shape.size() && !apart; ++d) apart = is_apart(body, buffer, d, loop->var);
    if (!apart) return false;
  }
  return true;
}

bool is_over(const Expr& e, const Exprs& vars) {
  for (const Expr& v : scalar::free_vars(e))
    if (std::find(vars.begin(), vars.end(), v) == vars.end()) return false;
  return !has_load(e);
}

}  // namespace

FineTasks spread(const Kernel& k) {
  Stmts path;  // lets, and loops that become part of the task's number
  Stmt rest = k.body;
  Expr per_task = scalar::imm(1);
  for (;; rest = rest->body[0]) {
    if (rest->kind == StmtKind::Let && !has_load(rest->value)) {
      path.push_back(rest);
      continue;
    }
    if (rest->kind != StmtKind::For || !is_over(rest->extent, k.shape_vars) || !is_independent(rest)) break;
    path.push_back(rest);
    per_task = scalar::simplify(per_task * rest->extent);
  }
  if (scalar::is_int(per_task, 1)) return {k, per_task};
  Kernel out = k;
  out.task = scalar::var("item");
  out.tasks = scalar::simplify(k.tasks * per_task);
  Expr inside = scalar::imm(1);  // the iterations of all loops inside
  for (size_t i = path.size(); i-- > 0;) {
    const Stmt& s = path[i];
    if (s->kind == StmtKind::Let) {
      rest = let(s->var, s->value, rest);
      continue;
    }
    rest = let(s->var, s->min + scalar::floormod(scalar::floordiv(out.task, inside), s->extent), rest);
    inside = scalar::simplify(inside * s->extent);
  }
  out.body = let(k.task, scalar::floordiv(out.task, per_task), rest);
  return {out, per_task};
}

}  // namespace relay::loop
