// Intervals of integer expressions, and the proof that a sum is at least a number. Both operate on normal forms
// (linear.h).
//
//   y in 0..8, x in 0..w:   range_of(8 * y + 3) = [3, 59];   at_least(8 * w - w * y - x, 1) holds
#include <algorithm>
#include <limits>

#include "relay/scalar/linear.h"

namespace relay::scalar {

using End = std::optional<int64_t>;

static End add_ends(End a, End b) {
  int64_t r = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &r)) return {};
  return r;
}

static Interval plus(const Interval& a, const Interval& b) { return {add_ends(a.min, b.min), add_ends(a.max, b.max)}; }

static Interval scale(const Interval& a, int64_t k) {
  if (k == 0) return Interval::point(0);
  auto times = [&](End e) -> End {
    int64_t r = 0;
    if (!e || __builtin_mul_overflow(*e, k, &r)) return {};
    return r;
  };
  return k > 0 ? Interval{times(a.min), times(a.max)} : Interval{times(a.max), times(a.min)};
}

static Interval times(const Interval& a, const Interval& b) {
  // An empty range, of a branch that is never taken, has no sign.
  auto is_empty = [](const Interval& i) { return i.min && i.max && *i.min > *i.max; };
  if (is_empty(a) || is_empty(b)) return {};
  if (a.min && a.max && *a.min == *a.max) return scale(b, *a.min);
  if (b.min && b.max && *b.min == *b.max) return scale(a, *b.min);
  if (a.min && a.max && b.min && b.max) {
    End lo, hi;
    for (int64_t x : {*a.min, *a.max})
      for (int64_t y : {*b.min, *b.max}) {
        int64_t r = 0;
        if (__builtin_mul_overflow(x, y, &r)) return {};
        lo = lo ? std::min(*lo, r) : r, hi = hi ? std::max(*hi, r) : r;
      }
    return {lo, hi};
  }
  // With an open end only the cases of known sign matter.
  if (a.min && b.min && *a.min >= 0 && *b.min >= 0) {
    int64_t lo = 0, hi = 0;
    bool low = !__builtin_mul_overflow(*a.min, *b.min, &lo);
    bool high = a.max && b.max && !__builtin_mul_overflow(*a.max, *b.max, &hi);
    return {low ? End(lo) : End(0), high ? End(hi) : End()};
  }
  if (a.max && *a.max <= 0) return scale(times(scale(a, -1), b), -1);
  if (b.max && *b.max <= 0) return scale(times(a, scale(b, -1)), -1);
  return {};
}

static Interval join_ranges(const Interval& a, const Interval& b) {
  return {a.min && b.min ? End(std::min(*a.min, *b.min)) : End(),
          a.max && b.max ? End(std::max(*a.max, *b.max)) : End()};
}

static Interval dtype_range(DType t) {
  if (t.is_bool()) return {0, 1};
  if (!t.is_int() || t.bits == 64) return t.code == DType::Code::UInt ? Interval{0, {}} : Interval{};
  if (t.code == DType::Code::UInt) return {0, (int64_t{1} << t.bits) - 1};
  return {-(int64_t{1} << (t.bits - 1)), (int64_t{1} << (t.bits - 1)) - 1};
}

static Interval divide_range(const Interval& a, const Interval& b) {
  if (!b.min || *b.min < 1) return {};
  // For a >= 0 the largest quotient has the smallest divisor; for a < 0 it is the other way round.
  Interval r;
  if (a.min) r.min = *a.min < 0 ? floor_div(*a.min, *b.min) : b.max ? floor_div(*a.min, *b.max) : 0;
  if (a.max) r.max = *a.max >= 0 ? floor_div(*a.max, *b.min) : b.max ? floor_div(*a.max, *b.max) : -1;
  return r;
}

static Interval modulo_range(const Interval& a, const Interval& b) {
  if (!b.min || *b.min < 1) return {};
  Interval r{0, b.max ? End(*b.max - 1) : End()};
  if (a.min && *a.min >= 0 && a.max) {
    if (*a.max < *b.min) return a;
    r.max = r.max ? std::min(*r.max, *a.max) : *a.max;
  }
  return r;
}

// Data may be nested deeply and share much, and the simplifier asks for the range of each quotient of a chain. These
// bound the work to find a range: more deeply nested data, quotients, remainders, minima and maxima may be any number.
struct Depth {
  int data = 6, index = 32;
};

static Interval range(const Expr& e, const Bounds& bounds, Depth depth);

static Interval binary_range(const Node& n, const Bounds& bounds, Depth depth) {
  const bool is_sum = n.binary == BinaryOp::Add || n.binary == BinaryOp::Sub || n.binary == BinaryOp::Mul;
  if (!is_sum && --depth.index < 0) return {};
  Interval a = range(n.args[0], bounds, depth), b = range(n.args[1], bounds, depth);
  switch (n.binary) {
    case BinaryOp::Add: return plus(a, b);
    case BinaryOp::Sub: return plus(a, scale(b, -1));
    case BinaryOp::Mul: return times(a, b);
    case BinaryOp::FloorDiv: return divide_range(a, b);
    case BinaryOp::FloorMod: return modulo_range(a, b);
    case BinaryOp::TruncDiv: return a.min && *a.min >= 0 ? divide_range(a, b) : Interval{};
    case BinaryOp::TruncMod: return a.min && *a.min >= 0 ? modulo_range(a, b) : Interval{};
    case BinaryOp::Min:
      return {a.min && b.min ? End(std::min(*a.min, *b.min)) : End(), !a.max   ? b.max
                                                                      : !b.max ? a.max
                                                                               : End(std::min(*a.max, *b.max))};
    case BinaryOp::Max:
      return {!a.min   ? b.min
              : !b.min ? a.min
                       : End(std::max(*a.min, *b.min)),
              a.max && b.max ? End(std::max(*a.max, *b.max)) : End()};
    default: return {};
  }
}

static Interval unary_range(const Node& n, const Bounds& bounds, Depth depth) {
  Interval a = range(n.args[0], bounds, depth);
  if (n.unary == UnaryOp::Neg) return scale(a, -1);
  if (n.unary == UnaryOp::Sign) return {-1, 1};
  if (n.unary != UnaryOp::Abs) return {};
  Interval m = scale(a, -1);
  if (a.min && *a.min >= 0) return a;
  if (m.min && *m.min >= 0) return m;
  return {0, a.max && m.max ? End(std::max(*a.max, *m.max)) : End()};
}

// An operation on data gives another number than that of the integers if it wraps around.
static Interval without_overflow(const Node& n, const Interval& r) {
  const bool may_wrap = n.kind == Kind::Unary
                            ? n.unary != UnaryOp::Sign
                            : n.binary == BinaryOp::Add || n.binary == BinaryOp::Sub || n.binary == BinaryOp::Mul;
  return n.index || !may_wrap || (r.min && r.max) ? r : Interval{};
}

static Interval range(const Expr& e, const Bounds& bounds, Depth depth) {
  const Node& n = *e;
  if (n.dtype.is_bool()) return n.kind == Kind::Int ? Interval::point(n.ivalue) : Interval{0, 1};
  if (n.dtype.element() != DType::int64())
    return n.kind == Kind::Int ? Interval::point(n.ivalue) : dtype_range(n.dtype);
  if (!n.index && --depth.data < 0) return {};
  switch (n.kind) {
    case Kind::Int: return Interval::point(n.ivalue);
    case Kind::Var: {
      const Bounds::Known* known = bounds.find_known(e);
      return known ? known->range : n.index ? Interval{0, {}} : Interval{};
    }
    case Kind::Binary: return without_overflow(n, binary_range(n, bounds, depth));
    case Kind::Unary: return without_overflow(n, unary_range(n, bounds, depth));
    case Kind::Select: return join_ranges(range(n.args[1], bounds, depth), range(n.args[2], bounds, depth));
    case Kind::Cast: {
      DType from = n.args[0]->dtype;
      if (from.is_float() || (from.code == DType::Code::UInt && from.bits == 64)) return {};
      return range(n.args[0], bounds, depth);
    }
    case Kind::Ramp: {
      Interval a = range(n.args[0], bounds, depth);
      return plus(a, join_ranges(Interval::point(0), scale(Interval::point(n.ivalue), n.dtype.lanes - 1)));
    }
    case Kind::Broadcast: return range(n.args[0], bounds, depth);
    case Kind::Any:
    case Kind::Reinterpret:
    case Kind::Load:
    case Kind::Dot:
    case Kind::Tuple:
    case Kind::Get:
    case Kind::Float: break;
  }
  return {};
}

Interval range_of(const Expr& e, const Bounds& bounds) { return range(e, bounds, {}); }

Interval range_of(const Linear& l, const Bounds& bounds) {
  Interval sum = Interval::point(l.constant);
  for (const Term& t : l.terms) {
    if (!sum.min && !sum.max) return sum;
    sum = plus(sum, scale(range_of(t.product, bounds), t.coefficient));
  }
  return sum;
}

namespace {

// The search of at_least: each step replaces a term by one that is not larger. `fuel` bounds the work.
class LowerBound {
 public:
  explicit LowerBound(const Bounds& bounds) : bounds_(bounds) {}

  bool prove(const Linear& l, int64_t target, int depth) {
    Interval r = range_of(l, bounds_);
    if (r.min && *r.min >= target) return true;
    if (depth == 0 || (r.max && *r.max < target)) return false;
    for (size_t i = 0; i < l.terms.size(); ++i) {
      if (--fuel_ < 0) return false;
      if (relax(l, i, target, depth)) return true;
    }
    return false;
  }

 private:
  // l with term i replaced by its product's cofactor times `value`.
  bool replaced(const Linear& l, size_t i, const Expr& cofactor, const Linear& value, int64_t coefficient,
                int64_t target, int depth) {
    Linear next = l, product;
    next.terms.erase(next.terms.begin() + static_cast<std::ptrdiff_t>(i));
    if (!multiply(cofactor ? split(cofactor) : Linear{{}, 1}, value, &product) || !add(&next, product, coefficient))
      return false;
    return prove(next, target, depth - 1);
  }

  bool relax(const Linear& l, size_t i, int64_t target, int depth) {
    const Term& t = l.terms[i];
    bool up = t.coefficient < 0;  // the factor's upper end makes the term smallest
    Exprs list = factors(t.product);
    for (const Expr& f : list) {
      if (f->kind != Kind::Var && f->kind != Kind::Binary && f->kind != Kind::Select) continue;
      Expr cofactor = list.size() == 1 ? Expr{} : without(t.product, f);
      if (cofactor) {
        Interval r = range_of(cofactor, bounds_);
        if (!r.min || *r.min < 0) continue;
      }
      auto with = [&](const Linear& value) { return replaced(l, i, cofactor, value, t.coefficient, target, depth); };
      if (f->kind == Kind::Var) {
        const Bounds::Known* known = bounds_.find_known(f);
        if (!known) continue;
        const Expr& end = up ? known->max : known->min;
        if (end && with(split(end))) return true;
        End number = up ? known->range.max : known->range.min;
        if (cofactor && number && with(Linear{{}, *number})) return true;
      } else if (f->kind == Kind::Select) {
        if (with(split(f->args[1])) && with(split(f->args[2]))) return true;
      } else if (f->binary == BinaryOp::Min || f->binary == BinaryOp::Max) {
        bool either = (f->binary == BinaryOp::Min) == up;
        bool first = with(split(f->args[0]));
        if (first && either) return true;
        if (!first && !either) continue;
        if (with(split(f->args[1]))) return true;
      } else if (f->binary == BinaryOp::FloorDiv && is_int(f->args[1]) && f->args[1]->ivalue > 0 &&
                 t.coefficient % f->args[1]->ivalue == 0) {
        // n - c + 1 <= c * (n // c) <= n
        int64_t c = f->args[1]->ivalue;
        Linear n = split(f->args[0]);
        if (!up && !add(&n, Linear{{}, 1 - c})) continue;
        if (replaced(l, i, cofactor, n, t.coefficient / c, target, depth)) return true;
      }
    }
    return false;
  }

  const Bounds& bounds_;
  int fuel_ = 40;
};

}  // namespace

bool at_least(const Linear& l, int64_t target, const Bounds& bounds) { return LowerBound(bounds).prove(l, target, 6); }

void Bounds::set_range(const Expr& var, const Expr& min, const Expr& extent) {
  Linear last = split(simplify(extent, *this));
  Linear first = split(simplify(min, *this));
  Known known{var, {}, {}, {}};
  known.range.min = range_of(first, *this).min;
  if (!first.is_constant()) known.min = join(first);
  if (add(&last, first) && add(&last, Linear{{}, -1})) {
    known.range.max = range_of(last, *this).max;
    if (!last.is_constant()) known.max = join(last);
  }
  known_[var.get()] = std::move(known);
}

}  // namespace relay::scalar
