// Replaces every Vectorised loop by vector statements.
//
//   for x in 0..16 vectorised { if o + x < n { out[o + x] = a[o + x] * s[0] } }
//   becomes
//   out[ramp(o, 1, 16)] = a[ramp(o, 1, 16)] * broadcast(s[0], 16) if ramp(o, 1, 16) < broadcast(n, 16)
//
// The loop variable becomes a ramp, and expressions that depend on it become vectors; index arithmetic on ramps stays a
// ramp where possible, so that code generation sees contiguous accesses. A condition that differs between lanes becomes
// the mask of the stores under it (masked-off lanes evaluate nothing, loads included). A local array of the body gets
// one more dimension, the lanes. Precondition: the lanes are independent (marking the loop promises it). A loop with
// detectable dependences (it adds to one place, or a loop bound inside it differs between lanes) is made serial
// instead.
#include <unordered_map>

#include "relay/base/diagnostics.h"
#include "relay/loop/lanes.h"
#include "relay/loop/loop.h"

namespace relay::loop {
namespace {

using scalar::BinaryOp;
using scalar::Kind;

Expr widen(const Expr& e, int lanes) { return e->dtype.lanes == 1 ? scalar::broadcast(e, lanes) : e; }

// True if base + stride * (0 .. lanes - 1) stays within one block of `divisor` elements.
bool within_block(const Expr& base, int64_t stride, int lanes, int64_t divisor) {
  if (stride < 0) return false;
  scalar::Interval r = scalar::interval(scalar::simplify(scalar::floormod(base, divisor)));
  return r.max && *r.max + stride * (lanes - 1) < divisor;
}

// a op b on int64, as a ramp; an empty Expr if the result is not a ramp.
Expr ramp_binary(BinaryOp op, const Expr& a, const Expr& b, int lanes) {
  std::optional<Lanes> x = as_lanes(a), y = as_lanes(b);
  if (!x || !y) return {};
  if (x->stride == 0 && y->stride == 0) return scalar::broadcast(scalar::binary(op, x->base, y->base), lanes);
  if (!a->index || !b->index) return {};
  switch (op) {
    case BinaryOp::Add: return from_lanes(x->base + y->base, x->stride + y->stride, lanes);
    case BinaryOp::Sub: return from_lanes(x->base - y->base, x->stride - y->stride, lanes);
    case BinaryOp::Mul:
      if (y->stride == 0 && scalar::is_int(y->base))
        return from_lanes(x->base * y->base, x->stride * y->base->ivalue, lanes);
      if (x->stride == 0 && scalar::is_int(x->base))
        return from_lanes(x->base * y->base, y->stride * x->base->ivalue, lanes);
      return {};
    case BinaryOp::FloorDiv:
    case BinaryOp::FloorMod: {
      if (y->stride != 0 || !scalar::is_int(y->base) || y->base->ivalue <= 0) return {};
      int64_t c = y->base->ivalue;
      bool division = op == BinaryOp::FloorDiv;
      Expr base = scalar::binary(op, x->base, y->base);
      if (x->stride % c == 0) return from_lanes(base, division ? x->stride / c : 0, lanes);
      if (within_block(x->base, x->stride, lanes, c)) return from_lanes(base, division ? 0 : x->stride, lanes);
      return {};
    }
    default: return {};
  }
}

// outer && mine, where mine is evaluated only in the lanes of outer (it may load).
Expr both(const Expr& outer, const Expr& mine) {
  bool loads = false;
  scalar::visit(mine, [&](const Expr& e) { loads |= e->kind == Kind::Load; });
  return loads ? scalar::select(outer, mine, scalar::imm(0, mine->dtype)) : scalar::logical_and(outer, mine);
}

class Vectoriser {
 public:
  Vectoriser(const Expr& var, const Expr& min, int lanes) : lanes_(lanes) {
    vars_.insert({var.get(), scalar::ramp(min, 1, lanes)});
    first_ = {{var, min}};
  }

  bool failed() const { return failed_; }

  Stmt stmt(const Stmt& s) {
    switch (s->kind) {
      case StmtKind::For: {
        Expr min = expr(s->min), extent = expr(s->extent);
        if (min->dtype.lanes > 1 || extent->dtype.lanes > 1 || s->for_kind == ForKind::Vectorised) failed_ = true;
        return failed_ ? s : for_(s->var, min, extent, s->for_kind, stmt(s->body[0]));
      }
      case StmtKind::Store: return store_stmt(s);
      case StmtKind::Let: {
        Expr value = expr(s->value);
        if (value->dtype.lanes == s->value->dtype.lanes) return let(s->var, value, stmt(s->body[0]));
        if (std::optional<Lanes> ramp = as_lanes(value); ramp && value->dtype.element() == DType::int64()) {
          Expr base = scalar::var_like(s->var->name, ramp->base);  // the uses stay ramps
          vars_[s->var.get()] = from_lanes(base, ramp->stride, lanes_);
          memo_.clear();
          return let(base, ramp->base, stmt(s->body[0]));
        }
        if (mask_) value = scalar::select(mask_, value, scalar::imm(0, value->dtype));
        Expr var = scalar::var_like(s->var->name, value);
        vars_[s->var.get()] = var;
        memo_.clear();
        return let(var, value, stmt(s->body[0]));
      }
      case StmtKind::If: {
        Expr condition = expr(s->condition);
        if (condition->dtype.lanes == 1)
          return if_(condition, stmt(s->body[0]), s->body.size() > 1 ? stmt(s->body[1]) : Stmt{});
        Expr outer = mask_;
        Stmts parts;
        for (size_t i = 0; i < s->body.size(); ++i) {
          Expr mine = i == 0 ? condition : scalar::unary(scalar::UnaryOp::Not, condition);
          mask_ = outer ? both(outer, mine) : mine;
          parts.push_back(stmt(s->body[i]));
        }
        mask_ = outer;
        return block(std::move(parts));
      }
      case StmtKind::Alloc: {
        Buffer wide;
        wide.name = s->buffer->name, wide.dtype = s->buffer->dtype, wide.scope = s->buffer->scope;
        wide.shape = s->buffer->shape;
        wide.shape.push_back(scalar::imm(lanes_));
        BufferRef b = make<Buffer>(std::move(wide));
        buffers_[s->buffer.get()] = b;
        memo_.clear();
        return alloc(b, stmt(s->body[0]));
      }
      case StmtKind::Block: {
        Stmts parts;
        for (const Stmt& b : s->body) parts.push_back(stmt(b));
        return block(std::move(parts));
      }
      case StmtKind::Prefetch: {  // only the first lane is prefetched
        Exprs indices;
        for (const Expr& e : s->indices) indices.push_back(scalar::substitute(e, first_));
        return prefetch(s->buffer, std::move(indices));
      }
      case StmtKind::Barrier:
      case StmtKind::AsyncCopy:
      case StmtKind::Commit:
      case StmtKind::Wait: failed_ = true;  // each lane would wait
    }
    return s;
  }

 private:
  Stmt store_stmt(const Stmt& s) {
    Exprs indices;
    int lanes = 1;
    for (const Expr& e : s->indices) indices.push_back(expr(e));
    BufferRef buffer = s->buffer;
    if (auto it = buffers_.find(buffer.get()); it != buffers_.end()) {
      buffer = it->second;
      indices.push_back(scalar::ramp(scalar::imm(0), 1, lanes_));
    }
    for (const Expr& e : indices) lanes = std::max<int>(lanes, e->dtype.lanes);
    Expr value = expr(s->value), mask = s->condition ? expr(s->condition) : Expr{};
    if (mask_) mask = mask ? both(mask_, widen(mask, lanes_)) : mask_;
    if (lanes == 1) {  // every lane stores to one place: valid only if all store the same and do not add up
      bool reads_itself = false;
      scalar::visit(value, [&](const Expr& e) { reads_itself |= e->kind == Kind::Load && e->source == s->buffer; });
      if (value->dtype.lanes > 1 || mask_ || (mask && mask->dtype.lanes > 1) || reads_itself) failed_ = true;
      return failed_ ? s : store(buffer, std::move(indices), value, mask);
    }
    return store(buffer, std::move(indices), widen(value, lanes), mask ? widen(mask, lanes) : mask);
  }

  Expr expr(const Expr& root) {
    scalar::visit(root, [&](const Expr& e) {
      if (!memo_.count(e.get())) memo_.insert({e.get(), {e, node(e)}});
    });
    return memo_.at(root.get()).second;
  }

  Expr node(const Expr& e) {
    if (e->kind == Kind::Var) {
      auto it = vars_.find(e.get());
      return it == vars_.end() ? e : it->second;
    }
    Exprs args;
    bool wider = false;
    for (const Expr& a : e->args) {
      args.push_back(memo_.at(a.get()).second);
      wider |= args.back()->dtype.lanes != a->dtype.lanes;
    }
    if (e->kind == Kind::Load)
      if (auto it = buffers_.find(static_cast<const Buffer*>(e->source.get())); it != buffers_.end()) {
        args.push_back(scalar::ramp(scalar::imm(0), 1, lanes_));
        return scalar::load(it->second, std::move(args));
      }
    if (!wider) return scalar::with_args(e, std::move(args));
    switch (e->kind) {
      case Kind::Binary: {
        if (Expr ramp = ramp_binary(e->binary, args[0], args[1], lanes_)) return ramp;
        return scalar::binary(e->binary, widen(args[0], lanes_), widen(args[1], lanes_));
      }
      case Kind::Select: return scalar::select(args[0], widen(args[1], lanes_), widen(args[2], lanes_));
      case Kind::Dot:
        for (Expr& a : args) a = widen(a, lanes_);
        return scalar::with_args(e, std::move(args));
      case Kind::Ramp:
      case Kind::Broadcast: failed_ = true; return e;
      default: return scalar::with_args(e, std::move(args));
    }
  }

  int lanes_;
  bool failed_ = false;
  Expr mask_;  // of the active lanes; null for all
  std::vector<scalar::Binding> first_;
  std::unordered_map<const scalar::Node*, Expr> vars_;
  std::unordered_map<const Buffer*, BufferRef> buffers_;
  // Keeps the key alive together with its value.
  std::unordered_map<const scalar::Node*, std::pair<Expr, Expr>> memo_;
};

}  // namespace

Kernel vectorise(const Kernel& k) {
  Kernel out = k;
  out.body = rewrite(
      k.body,
      [](const Stmt& s) -> Stmt {
        if (s->kind != StmtKind::For || s->for_kind != ForKind::Vectorised) return s;
        Expr extent = scalar::simplify(s->extent);
        if (scalar::is_int(extent, 1)) return substitute(s->body[0], {{s->var, s->min}});
        if (scalar::is_int(extent) && extent->ivalue > 1 && extent->ivalue <= 256) {
          Vectoriser v(s->var, s->min, static_cast<int>(extent->ivalue));
          Stmt body = v.stmt(s->body[0]);
          if (!v.failed()) return body;
        }
        return for_(s->var, s->min, s->extent, ForKind::Serial, s->body[0]);
      },
      [](const Expr& e) { return e; });
  return out;
}

}  // namespace relay::loop
