// simplify: conditions, selects, dtypes other than int64, and vectors.
#include <algorithm>
#include <numeric>

#include "relay/scalar/simplifier.h"

namespace relay::scalar::simplifier {

// --- everything else ------------------------------------------------------------------------------------------------

Expr Simplifier::other(const Expr& e) {
  if (e->dtype.is_bool() && e->dtype.lanes == 1 && e->kind == Kind::Binary && is_comparison(e->binary) &&
      is_int64(e->args[0]))
    return comparison(e->binary, linear(e->args[0]), linear(e->args[1]));
  if (e->kind == Kind::Binary && (e->binary == BinaryOp::And || e->binary == BinaryOp::Or)) return connective(e);
  if (e->kind == Kind::Select) {
    Expr c = simplify(e->args[0]);
    if (std::optional<bool> known = truth(c)) return simplify(e->args[*known ? 1 : 2]);
    Expr then = simplify(e->args[1]), otherwise = simplify(e->args[2]);
    if (e->dtype.is_bool() && truth(then) == true && truth(otherwise) == false) return c;
    if (e->dtype.is_bool() && truth(then) == false && truth(otherwise) == true) return negate(c);
    // A floating-point NaN constant equals itself here: the bits are the same in either case.
    if (equal(then, otherwise)) return then;
    return with_args(e, {c, then, otherwise});
  }
  Exprs args = e->args;
  for (Expr& a : args) a = simplify(a);
  if (e->kind == Kind::Unary && e->unary == UnaryOp::Not) return negate(args[0]);
  if (e->dtype.lanes > 1 && e->kind != Kind::Ramp && e->kind != Kind::Broadcast)
    if (Expr v = vector(e, args)) return v;
  if (e->kind == Kind::Ramp && e->ivalue == 0) return broadcast(args[0], e->dtype.lanes);
  return with_args(e, std::move(args));
}

// not e, for e in normal form.
Expr Simplifier::negate(const Expr& e) {
  if (std::optional<bool> known = truth(e)) return boolean(!*known, e->dtype.lanes);
  if (e->kind == Kind::Unary && e->unary == UnaryOp::Not) return e->args[0];
  if (e->kind == Kind::Broadcast) return broadcast(negate(e->args[0]), e->dtype.lanes);
  if (e->kind == Kind::Binary && !e->args[0]->dtype.is_float()) {  // a NaN makes not (a < b) differ from b <= a
    switch (e->binary) {
      case BinaryOp::Lt: return compared(BinaryOp::Le, e->args[1], e->args[0]);
      case BinaryOp::Le: return compared(BinaryOp::Lt, e->args[1], e->args[0]);
      case BinaryOp::Eq: return compared(BinaryOp::Ne, e->args[0], e->args[1]);
      case BinaryOp::Ne: return compared(BinaryOp::Eq, e->args[0], e->args[1]);
      default: break;
    }
  }
  return unary(UnaryOp::Not, e);
}

Expr Simplifier::compared(BinaryOp op, const Expr& a, const Expr& b) {
  return is_int64(a) ? comparison(op, number_of_normal(a), number_of_normal(b)) : binary(op, a, b);
}

// Nested ands (ors), flattened, each operand once, in the order written.
Expr Simplifier::connective(const Expr& e) {
  Exprs list;
  bool absorbing = e->binary == BinaryOp::Or;
  bool decided = false;
  auto insert = [&](auto& self, const Expr& x) -> void {
    if (decided) return;
    if (is_op(x, e->binary)) {
      self(self, x->args[0]);
      self(self, x->args[1]);
      return;
    }
    if (std::optional<bool> known = truth(x)) {
      decided = *known == absorbing;
      return;
    }
    for (const Expr& other : list) {
      if (equal(other, x)) return;
      if (equal(other, negate(x))) decided = true;
    }
    list.push_back(x);
  };
  insert(insert, simplify(e->args[0]));
  insert(insert, simplify(e->args[1]));
  if (decided || list.empty()) return boolean(decided ? absorbing : !absorbing, e->dtype.lanes);
  Expr out = list[0];
  for (size_t i = 1; i < list.size(); ++i) out = binary(e->binary, out, list[i]);
  return out;
}

Expr Simplifier::comparison(BinaryOp op, const Linear& a, const Linear& b) {
  std::optional<Linear> d = difference(b, a);
  std::optional<Linear> minus = d ? difference(a, b) : std::nullopt;
  if (!d || !minus) return binary(op, join(a), join(b));
  if (op == BinaryOp::Eq || op == BinaryOp::Ne) {
    bool ne = op == BinaryOp::Ne;
    if (d->is_constant()) return boolean((d->constant != 0) == ne, 1);
    int64_t g = divisor(*d);
    if (d->constant % g != 0 || at_least(*d, 1, bounds_) || at_least(*minus, 1, bounds_)) return boolean(ne, 1);
    if (at_least(*d, 0, bounds_) && at_least(*minus, 0, bounds_)) return boolean(!ne, 1);
    shrink(&*d, g, d->constant / g);
    if (d->terms[0].coefficient < 0) d = negated(*d);
    const Expr sides = two_sided(op, *d, d->constant);
    return sides ? sides : binary(op, join(a), join(b));
  }
  // d >= 0, for both kinds
  if (op == BinaryOp::Lt && (!add(&*d, Linear{{}, -1}) || !add(&*minus, Linear{{}, 1})))
    return binary(op, join(a), join(b));
  if (d->is_constant()) return boolean(d->constant >= 0, 1);
  int64_t g = divisor(*d);
  int64_t constant = scalar::floor_div(d->constant, g);
  shrink(&*d, g, constant);
  if (at_least(*d, 0, bounds_)) return boolean(true, 1);
  Linear refute = negated(*d);
  if (at_least(refute, 1, bounds_)) return boolean(false, 1);
  bool any_negative = std::any_of(d->terms.begin(), d->terms.end(), [](const Term& t) { return t.coefficient < 0; });
  bool any_positive = std::any_of(d->terms.begin(), d->terms.end(), [](const Term& t) { return t.coefficient > 0; });
  bool strict = any_negative && (constant < 0 || (!any_positive && constant < INT64_MAX));
  const Expr sides = two_sided(strict ? BinaryOp::Lt : BinaryOp::Le, *d, constant + strict);
  return sides ? sides : binary(op, join(a), join(b));
}

int64_t Simplifier::divisor(const Linear& l) {
  int64_t g = 0;
  for (const Term& t : l.terms) g = std::gcd(g, t.coefficient);
  return g;
}

void Simplifier::shrink(Linear* l, int64_t g, int64_t constant) {
  for (Term& t : l->terms) t.coefficient /= g;
  l->constant = constant;
}

// Negative terms op positive terms + constant, with a negative constant moved to the left. Null if a side might wrap
// around.
Expr Simplifier::two_sided(BinaryOp op, const Linear& d, int64_t constant) const {
  Linear left, right;
  for (const Term& t : d.terms) {
    if (t.coefficient < 0 && t.coefficient != INT64_MIN)
      left.terms.push_back({t.product, -t.coefficient});
    else
      right.terms.push_back(t);
  }
  if (constant < 0 && constant != INT64_MIN)
    left.constant = -constant;
  else
    right.constant = constant;
  if (may_wrap(left) || may_wrap(right)) return {};
  return binary(op, join(left), join(right));
}

// --- vectors --------------------------------------------------------------------------------------------------------

std::optional<Lanes> Simplifier::as_lanes(const Expr& e) {
  if (!e->index || e->dtype.lanes == 1) return std::nullopt;
  if (e->kind == Kind::Ramp && e->args[0]->dtype.lanes == 1) return Lanes{split(e->args[0]), e->ivalue};
  if (e->kind == Kind::Broadcast && e->args[0]->dtype.lanes == 1) return Lanes{split(e->args[0]), 0};
  return std::nullopt;
}

Expr Simplifier::from_lanes(const Linear& base, int64_t stride, int lanes) {
  return stride == 0 ? broadcast(join(base), lanes) : ramp(join(base), stride, lanes);
}

// The rules for a vector operation with simplified arguments; null if none applies.
Expr Simplifier::vector(const Expr& e, const Exprs& args) {
  int lanes = e->dtype.lanes;
  bool elementwise =
      e->kind == Kind::Unary || e->kind == Kind::Binary || e->kind == Kind::Cast || e->kind == Kind::Reinterpret;
  if (!elementwise) return {};
  if (std::all_of(args.begin(), args.end(),
                  [](const Expr& a) { return a->kind == Kind::Broadcast && a->args[0]->dtype.lanes == 1; })) {
    Exprs inner;
    for (const Expr& a : args) inner.push_back(a->args[0]);
    Expr one = e->kind == Kind::Unary         ? unary(e->unary, inner[0])
               : e->kind == Kind::Binary      ? binary(e->binary, inner[0], inner[1])
               : e->kind == Kind::Reinterpret ? reinterpret(e->dtype.element(), inner[0])
                                              : cast(e->dtype.element(), inner[0]);
    return broadcast(simplify(one), lanes);
  }
  if (e->kind != Kind::Binary) return {};
  std::optional<Lanes> a = as_lanes(args[0]), b = as_lanes(args[1]);
  if (!a || !b) return {};
  int64_t stride = 0, last = 0;
  switch (e->binary) {
    case BinaryOp::Add:
    case BinaryOp::Sub: {
      int64_t sign = e->binary == BinaryOp::Add ? 1 : -1;
      Linear base = a->base;
      if (!add(&base, b->base, sign) || __builtin_mul_overflow(b->stride, sign, &stride) ||
          __builtin_add_overflow(a->stride, stride, &stride))
        return {};
      return from_lanes(recombine(std::move(base)), stride, lanes);
    }
    case BinaryOp::Mul: {
      if (!(b->stride == 0 && b->base.is_constant())) std::swap(a, b);
      Linear base;
      if (b->stride != 0 || !b->base.is_constant() || __builtin_mul_overflow(a->stride, b->base.constant, &stride))
        return {};
      return add(&base, a->base, b->base.constant) ? from_lanes(base, stride, lanes) : Expr{};
    }
    case BinaryOp::FloorDiv:
    case BinaryOp::FloorMod: {
      int64_t c = b->base.constant;
      if (b->stride != 0 || !b->base.is_constant() || c <= 0 || __builtin_mul_overflow(a->stride, lanes - 1, &last))
        return {};
      bool div = e->binary == BinaryOp::FloorDiv;
      if (a->stride % c == 0)
        return div ? from_lanes(divide(a->base, b->base), a->stride / c, lanes)
                   : from_lanes(modulo(a->base, b->base), 0, lanes);
      // All lanes have the same quotient if base % c leaves room for the last one.
      Linear first = modulo(a->base, b->base);
      Interval r = range_of(first, bounds_);
      // base % c is a multiple of g if g divides all terms of base
      int64_t g = std::gcd(divisor(first), first.constant);
      int64_t max = r.max && g > 1 && c % g == 0 ? std::min(*r.max, c - g) : r.max.value_or(c - 1);
      if (!r.min || *r.min + std::min<int64_t>(last, 0) < 0 || max + std::max<int64_t>(last, 0) >= c) return {};
      return div ? from_lanes(divide(a->base, b->base), 0, lanes) : from_lanes(first, a->stride, lanes);
    }
    case BinaryOp::Lt:
    case BinaryOp::Le:
    case BinaryOp::Eq:
    case BinaryOp::Ne: return vector_comparison(e->binary, *a, *b, lanes);
    default: return {};
  }
}

Expr Simplifier::vector_comparison(BinaryOp op, const Lanes& a, const Lanes& b, int lanes) {
  std::optional<Linear> d = difference(b.base, a.base);
  int64_t stride = 0, last = 0;
  if (!d || __builtin_sub_overflow(b.stride, a.stride, &stride) || __builtin_mul_overflow(stride, lanes - 1, &last))
    return {};
  Linear minus = negated(*d);
  int64_t low = std::min<int64_t>(last, 0), high = std::max<int64_t>(last, 0);  // the range of the lanes' part of b - a
  bool equality = op == BinaryOp::Eq || op == BinaryOp::Ne;
  int64_t need = op == BinaryOp::Le ? 0 : 1;
  bool positive = at_least(*d, need - low, bounds_);
  bool refuted = at_least(minus, high + (equality ? 1 : 1 - need), bounds_);
  if (equality) return positive || refuted ? boolean(op == BinaryOp::Ne, lanes) : Expr{};
  if (positive) return boolean(true, lanes);
  return refuted ? boolean(false, lanes) : Expr{};
}

}  // namespace relay::scalar::simplifier
