// simplify: rules over the normal form. Sums and products are Linears (linear.h); every other int64 operation first
// brings its arguments into normal form and then tries its rules:
//
//   (8 * y + x + 9) // 4, x in 0..4   ->   2 * y + (x + 9) // 4   ->   2 * y + 2 + (x + 1) // 4
//   4 * (i // 4) + i % 4              ->   i
//   i < h, i in 0..h                  ->   true
#include "relay/scalar/simplifier.h"

#include <algorithm>
#include <numeric>

#include "relay/scalar/parts.h"
#include "relay/scalar/simplify.h"

namespace relay::scalar {

namespace simplifier {

Expr Simplifier::simplify(const Expr& e) {
  if (e->kind == Kind::Int || e->kind == Kind::Float || e->kind == Kind::Any) return e;
  if (is_int64(e) && e->index) return join(linear(e));
  if (is_int64(e)) return remember(exprs_, e, [&] { return data(e); });
  if (e->kind == Kind::Var) return e;
  return remember(exprs_, e, [&] { return other(e); });
}

Linear Simplifier::linear(const Expr& e) {
  if (e->kind == Kind::Int) return {{}, e->ivalue};
  if (!e->index) return number(wrapping(e));
  if (is_relabel(e)) return linear(e->args[0]);
  if (e->kind == Kind::Any) return {{{e, 1}}, 0};
  if (e->kind == Kind::Var) {
    const Bounds::Known* known = bounds_.find_known(e);
    if (known && known->range.min && known->range.max && *known->range.min == *known->range.max)
      return {{}, *known->range.min};
    return {{{e, 1}}, 0};
  }
  return remember(linears_, e, [&] { return index(e); });
}

Linear Simplifier::negated(const Linear& l) {
  Linear out;
  return add(&out, l, -1) ? out : atom(binary(BinaryOp::Mul, join(l), imm(-1)));
}

std::optional<Linear> Simplifier::difference(const Linear& a, const Linear& b) {
  Linear d = a;
  if (!add(&d, b, -1)) return std::nullopt;
  return d;
}

// --- index arithmetic -----------------------------------------------------------------------------------------------

Linear Simplifier::index(const Expr& e) {
  switch (e->kind) {
    case Kind::Unary: return index_unary(e);
    case Kind::Binary: return index_binary(e);
    case Kind::Select: {
      Expr c = simplify(e->args[0]);
      if (std::optional<bool> known = truth(c)) return linear(e->args[*known ? 1 : 2]);
      Expr then = simplify(e->args[1]), otherwise = simplify(e->args[2]);
      if (equal(then, otherwise)) return atom(then);
      return atom(scalar::select(std::move(c), std::move(then), std::move(otherwise)));
    }
    default: {
      Exprs args = e->args;
      for (Expr& a : args) a = simplify(a);
      return atom(with_args(e, std::move(args)));
    }
  }
}

Linear Simplifier::index_unary(const Expr& e) {
  Linear a = linear(e->args[0]);
  if (e->unary == UnaryOp::Neg) return negated(a);
  if (e->unary == UnaryOp::Abs) {
    if (at_least(a, 0, bounds_)) return a;
    Linear minus = negated(a);
    if (at_least(minus, 0, bounds_)) return minus;
  }
  return atom(unary(e->unary, join(a)));
}

Linear Simplifier::index_binary(const Expr& e) {
  if (e->binary == BinaryOp::Add || e->binary == BinaryOp::Sub) return sum(e);
  if (e->binary == BinaryOp::Mul) return product(e);
  Linear a = linear(e->args[0]), b = linear(e->args[1]);
  switch (e->binary) {
    case BinaryOp::FloorDiv: return recombine(divide(std::move(a), std::move(b)));
    case BinaryOp::FloorMod: return recombine(modulo(std::move(a), std::move(b)));
    case BinaryOp::TruncDiv:
      if (at_least(a, 0, bounds_) && at_least(b, 1, bounds_)) return recombine(divide(std::move(a), std::move(b)));
      break;
    case BinaryOp::TruncMod:
      if (at_least(a, 0, bounds_) && at_least(b, 1, bounds_)) return recombine(modulo(std::move(a), std::move(b)));
      break;
    case BinaryOp::Min:
    case BinaryOp::Max: return extremum(e->binary, a, b);
    default: break;
  }
  return atom(binary(e->binary, join(a), join(b)));
}

// True if the product of all factors, multiplied out, stays small.
static bool is_small_product(const std::vector<Linear>& factors) {
  constexpr int64_t most_terms = 64, most_nodes = 4096;
  int64_t terms = 1, nodes = 0;
  for (const Linear& f : factors) {
    const bool monomial = f.terms.size() == 1 && f.constant == 0;  // adds no terms
    if (!monomial) terms *= static_cast<int64_t>(f.terms.size()) + 1;
    for (const Term& t : f.terms)
      if (nodes += count_parts(t.product, most_nodes); terms > most_terms || terms * nodes > most_nodes) return false;
  }
  return true;
}

// Looks at all factors of a product of products at once, so that the result does not depend on their order. Sums are
// multiplied out if that keeps the product small; otherwise they are factors as they are.
Linear Simplifier::product(const Expr& e) {
  Exprs written, work{e};
  while (!work.empty()) {
    Expr f = std::move(work.back());
    work.pop_back();
    if (is_op(f, BinaryOp::Mul) && f->index)
      work.push_back(f->args[1]), work.push_back(f->args[0]);
    else
      written.push_back(std::move(f));
  }
  std::vector<Linear> parts;
  for (const Expr& f : written) parts.push_back(linear(f));
  Linear out{{}, 1}, next;
  bool expanded = is_small_product(parts);
  for (size_t i = 0; i < parts.size() && expanded; ++i)
    if ((expanded = multiply(out, parts[i], &next))) out = std::move(next);
  if (expanded) return recombine(std::move(out));
  Exprs list;
  int64_t coefficient = 1;
  for (const Linear& part : parts) {
    const bool monomial = part.terms.size() == 1 && part.constant == 0;
    const int64_t by = monomial ? part.terms[0].coefficient : part.is_constant() ? part.constant : 1;
    if (__builtin_mul_overflow(coefficient, by, &coefficient)) return atom(e);
    if (part.is_constant()) continue;
    if (!monomial) list.push_back(join(part));
    if (monomial)
      for (const Expr& f : factors(part.terms[0].product)) list.push_back(f);
  }
  if (coefficient == 0 || list.empty()) return {{}, list.empty() ? coefficient : 0};
  return {{{product_of(std::move(list)), coefficient}}, 0};
}

// True if recombine() may find something: a factor is a remainder.
static bool has_remainder(const Linear& l) {
  return std::any_of(l.terms.begin(), l.terms.end(), [](const Term& t) {
    const Expr* e = &t.product;
    for (; is_op(*e, BinaryOp::Mul); e = &(*e)->args[0])
      if (is_op((*e)->args[1], BinaryOp::FloorMod)) return true;
    return is_op(*e, BinaryOp::FloorMod);
  });
}

// ((a + b) - c) + ...: iterates from the left, so that sums of many terms need no stack. Many terms are sorted once.
Linear Simplifier::sum(const Expr& e) {
  std::vector<const Expr*> sums;
  const Expr* first = &e;
  while ((is_op(*first, BinaryOp::Add) || is_op(*first, BinaryOp::Sub)) && !linears_.count(first->get())) {
    sums.push_back(first);
    first = &(*first)->args[0];
  }
  Linear total = linear(*first);
  std::vector<std::pair<Linear, int64_t>> parts;
  for (size_t i = sums.size(); i-- > 0;)
    parts.emplace_back(linear((*sums[i])->args[1]), (*sums[i])->binary == BinaryOp::Add ? 1 : -1);
  const bool is_plain = !has_remainder(total) && std::none_of(parts.begin(), parts.end(), [](const auto& part) {
    return has_remainder(part.first);
  });
  if (Linear all = total; is_plain && add(&all, parts)) return all;
  for (size_t i = sums.size(); i-- > 0;) {
    const Node& n = **sums[i];
    const auto& [right, sign] = parts[sums.size() - 1 - i];
    Linear out = total;
    total = add(&out, right, sign) ? recombine(std::move(out)) : atom(binary(n.binary, join(total), join(right)));
    if (i > 0 && (*sums[i])->use_count() >= 2) linears_.emplace(sums[i]->get(), total);
  }
  return total;
}

// n = quotient * c + rest, where rest has small coefficients and a constant in [0, c).
void Simplifier::reduce(const Linear& n, int64_t c, Linear* quotient, Linear* rest) {
  quotient->constant = scalar::floor_div(n.constant, c), rest->constant = scalar::floor_mod(n.constant, c);
  for (const Term& t : n.terms) {
    if (t.coefficient / c != 0) quotient->terms.push_back({t.product, t.coefficient / c});
    if (t.coefficient % c != 0) rest->terms.push_back({t.product, t.coefficient % c});
  }
}

// The k with k * c <= l < (k + 1) * c, if it can be proved.
std::optional<int64_t> Simplifier::constant_quotient(const Linear& l, int64_t c) {
  Interval r = range_of(l, bounds_);
  if (r.min && r.max && scalar::floor_div(*r.min, c) == scalar::floor_div(*r.max, c))
    return scalar::floor_div(*r.min, c);
  if (!l.is_constant() && at_least(l, 0, bounds_)) {
    Linear room;
    if (add(&room, l, -1) && at_least(room, 1 - c, bounds_)) return 0;
  }
  return std::nullopt;
}

// l = g * multiple + rest with g > 1 a divisor of c (g < c) and rest proved to be in [0, g): returns the largest such
// g, or 0.
int64_t Simplifier::split_by_divisor(const Linear& l, int64_t c, Linear* multiple, Linear* rest) {
  std::vector<int64_t> candidates;
  for (const Term& t : l.terms) {
    int64_t g = std::gcd(t.coefficient, c);
    if (g > 1 && g < c) candidates.push_back(g);
  }
  std::sort(candidates.begin(), candidates.end(), std::greater<>());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  for (int64_t g : candidates) {
    *multiple = {{}, scalar::floor_div(l.constant, g)}, *rest = {{}, scalar::floor_mod(l.constant, g)};
    for (const Term& t : l.terms) {
      if (t.coefficient % g == 0)
        multiple->terms.push_back({t.product, t.coefficient / g});
      else
        rest->terms.push_back(t);
    }
    Interval r = range_of(*rest, bounds_);
    if (r.min && r.max && *r.min >= 0 && *r.max < g) return g;
  }
  return 0;
}

// -n; returns false if n may be the least int64, as a loaded element may be, whose negative does not exist.
bool Simplifier::negative(const Linear& n, Linear* minus) const {
  return range_of(n, bounds_).min.has_value() && add(minus, n, -1);
}

Linear Simplifier::divide(Linear n, Linear d) {
  if (!d.is_constant()) return divide_symbolic(n, d);
  int64_t c = d.constant;
  if (c == 0 || c == INT64_MIN) return atom(binary(BinaryOp::FloorDiv, join(n), join(d)));
  if (c < 0) {
    Linear minus;
    if (!negative(n, &minus)) return atom(binary(BinaryOp::FloorDiv, join(n), join(d)));
    n = std::move(minus), c = -c;
  }
  if (c == 1) return n;
  Linear quotient, rest, multiple, remainder, out;
  reduce(n, c, &quotient, &rest);
  if (std::optional<int64_t> k = constant_quotient(rest, c))
    return add(&quotient, Linear{{}, *k}) ? quotient : divide_atom(n, c);
  Linear tail;
  int64_t a = 0, product = 0;
  const Node* only = rest.terms.size() == 1 && rest.terms[0].coefficient == 1 ? rest.terms[0].product.get() : nullptr;
  bool by_constant = only && only->kind == Kind::Binary && is_int(only->args[1]) && (a = only->args[1]->ivalue) > 0;
  if (int64_t g = split_by_divisor(rest, c, &multiple, &remainder)) {
    tail = divide(multiple, Linear{{}, c / g});
  } else if (by_constant && only->binary == BinaryOp::FloorDiv && !__builtin_mul_overflow(a, c, &product)) {
    // (m // a + k) // c = (m + k * a) // (a * c)
    Linear m = split(only->args[0]);
    if (!add(&m, Linear{{}, rest.constant}, a)) return divide_atom(n, c);
    tail = divide(std::move(m), Linear{{}, product});
  } else if (by_constant && only->binary == BinaryOp::FloorMod && rest.constant == 0 && a % c == 0) {
    // (m % a) // c = (m // c) % (a / c)
    tail = modulo(divide(split(only->args[0]), Linear{{}, c}), Linear{{}, a / c});
  } else {
    tail = divide_atom(rest, c);
  }
  return add(&quotient, tail) ? quotient : divide_atom(n, c);
}

// n = d * quotient + rest for a divisor of one term (m, 4 * m * k); rest contains no multiples of d.
bool Simplifier::reduce_symbolic(const Linear& n, const Linear& d, Linear* quotient, Linear* rest) {
  if (d.terms.size() != 1 || d.constant != 0) {
    // n = k * d for a whole k
    int64_t k = n.terms.empty() ? 0 : n.terms[0].coefficient / d.terms[0].coefficient;
    *quotient = {{}, k}, *rest = n;
    return k == 0 || (add(rest, d, -k) && rest->is_constant() && rest->constant == 0);
  }
  const Term& by = d.terms[0];
  Exprs divisor = factors(by.product);
  rest->constant = n.constant;
  for (const Term& t : n.terms) {
    Expr left = t.product;
    bool whole = t.coefficient % by.coefficient == 0;
    for (size_t i = 0; whole && i < divisor.size(); ++i) {
      whole = left && has_factor(left, divisor[i]);
      if (whole) left = without(left, divisor[i]);
    }
    if (!whole)
      rest->terms.push_back(t);
    else if (!add(quotient, left ? Linear{{{left, 1}}, 0} : Linear{{}, 1}, t.coefficient / by.coefficient))
      return false;
  }
  return true;
}

// True if 0 <= l < d is proved.
bool Simplifier::below(const Linear& l, const Linear& d) {
  std::optional<Linear> room = difference(d, l);
  return room && at_least(l, 0, bounds_) && at_least(*room, 1, bounds_);
}

Linear Simplifier::divide_symbolic(const Linear& n, const Linear& d) {
  if (range_of(d, bounds_).min.value_or(0) >= 1) {
    Linear quotient, rest;
    if (reduce_symbolic(n, d, &quotient, &rest)) {
      if (below(rest, d)) return quotient;
      if (add(&quotient, atom(floordiv(join(rest), join(d))))) return quotient;
    }
  }
  return atom(floordiv(join(n), join(d)));
}

Linear Simplifier::modulo_symbolic(const Linear& n, const Linear& d) {
  if (range_of(d, bounds_).min.value_or(0) >= 1) {
    Linear quotient, rest;
    if (reduce_symbolic(n, d, &quotient, &rest)) return below(rest, d) ? rest : atom(floormod(join(rest), join(d)));
  }
  return atom(floormod(join(n), join(d)));
}

Linear Simplifier::modulo(Linear n, Linear d) {
  if (!d.is_constant()) return modulo_symbolic(n, d);
  int64_t c = d.constant;
  if (c == 0 || c == INT64_MIN) return atom(binary(BinaryOp::FloorMod, join(n), join(d)));
  if (c < 0) {  // n % c = -((-n) % -c)
    Linear minus, out;
    if (!negative(n, &minus) || !add(&out, modulo(minus, Linear{{}, -c}), -1)) return modulo_atom(n, c);
    return out;
  }
  if (c == 1) return {};
  Linear quotient, rest, multiple, remainder;
  reduce(n, c, &quotient, &rest);
  // k * (x % a) with c a divisor of k * a is k * x here.
  for (size_t i = 0; i < rest.terms.size(); ++i) {
    const Term t = rest.terms[i];
    int64_t period = 0;
    if (!is_op(t.product, BinaryOp::FloorMod) || !is_int(t.product->args[1]) ||
        __builtin_mul_overflow(t.product->args[1]->ivalue, t.coefficient, &period) || period % c != 0)
      continue;
    rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(i));
    if (!add(&rest, split(t.product->args[0]), t.coefficient)) return modulo_atom(n, c);
    return modulo(std::move(rest), Linear{{}, c});
  }
  if (std::optional<int64_t> k = constant_quotient(rest, c)) {
    rest.constant -= *k * c;
    return rest;
  }
  if (int64_t g = split_by_divisor(rest, c, &multiple, &remainder)) {
    if (add(&remainder, modulo(multiple, Linear{{}, c / g}), g)) return remainder;
  }
  return modulo_atom(rest, c);
}

// k * d * (n // d) + k * (n % d) -> k * n, also under a common factor.
Linear Simplifier::recombine(Linear l) {
  if (!has_remainder(l)) return l;
  for (size_t i = 0; i < l.terms.size() && l.terms.size() > 1; ++i) {
    Exprs list = factors(l.terms[i].product);
    for (const Expr& f : list) {
      if (!is_op(f, BinaryOp::FloorMod)) continue;
      if (!recombine_term(&l, i, f)) continue;
      i = static_cast<size_t>(-1);  // restart
      break;
    }
  }
  return l;
}

bool Simplifier::recombine_term(Linear* l, size_t i, const Expr& mod) {
  const Term t = l->terms[i];
  Linear n = split(mod->args[0]), d = split(mod->args[1]);
  if (d.terms.size() > 1 || (d.constant != 0 && !d.terms.empty())) return false;
  Linear q = divide(n, d), wanted, whole;
  if (q.terms.size() != 1 || q.constant != 0) return false;
  Expr cofactor = without(t.product, mod);
  Linear others = cofactor ? split(cofactor) : Linear{{}, 1};
  Linear scaled;
  if (!multiply(others, q, &wanted) || !multiply(wanted, d, &scaled) || scaled.terms.size() != 1 ||
      scaled.constant != 0)
    return false;
  int64_t coefficient = 0;
  if (__builtin_mul_overflow(scaled.terms[0].coefficient, t.coefficient, &coefficient)) return false;
  for (size_t j = 0; j < l->terms.size(); ++j) {
    if (j == i || l->terms[j].coefficient != coefficient || compare(l->terms[j].product, scaled.terms[0].product) != 0)
      continue;
    Linear rest{{}, l->constant};
    for (size_t k = 0; k < l->terms.size(); ++k)
      if (k != i && k != j) rest.terms.push_back(l->terms[k]);
    if (!multiply(others, n, &whole) || !add(&rest, whole, t.coefficient)) return false;
    *l = std::move(rest);
    return true;
  }
  return false;
}

// The operands of nested mins (maxes), without redundant ones.
Linear Simplifier::extremum(BinaryOp op, const Linear& a, const Linear& b) {
  std::vector<Linear> list;
  auto no_more = [&](const Linear& x, const Linear& y) {  // x can replace min(x, y) (or max)
    std::optional<Linear> d = op == BinaryOp::Min ? difference(y, x) : difference(x, y);
    return d && at_least(*d, 0, bounds_);
  };
  auto insert = [&](auto& self, const Linear& l) -> void {
    if (l.terms.size() == 1 && l.terms[0].coefficient == 1 && l.constant == 0 && is_op(l.terms[0].product, op)) {
      self(self, split(l.terms[0].product->args[0]));
      self(self, split(l.terms[0].product->args[1]));
      return;
    }
    for (const Linear& other : list)
      if (no_more(other, l)) return;
    std::erase_if(list, [&](const Linear& other) { return no_more(l, other); });
    list.push_back(l);
  };
  insert(insert, a);
  insert(insert, b);
  if (list.size() == 1) return list[0];
  Exprs exprs;
  for (const Linear& l : list) exprs.push_back(join(l));
  std::sort(exprs.begin(), exprs.end(), [](const Expr& x, const Expr& y) { return compare(x, y) < 0; });
  Expr out = exprs[0];
  for (size_t i = 1; i < exprs.size(); ++i) out = binary(op, out, exprs[i]);
  return atom(out);
}

}  // namespace simplifier

Expr simplify(const Expr& e, const Bounds& bounds) { return simplifier::Simplifier(bounds).simplify(e); }

Interval interval(const Expr& e, const Bounds& bounds) { return range_of(simplify(e, bounds), bounds); }

std::optional<bool> prove(const Expr& condition, const Bounds& bounds) {
  return simplifier::truth(simplify(condition, bounds));
}

std::optional<bool> prove_equal(const Expr& a, const Expr& b, const Bounds& bounds) {
  if (equal(a, b)) return true;
  if (a->dtype != b->dtype) return std::nullopt;
  return prove(binary(BinaryOp::Eq, a, b), bounds);
}

}  // namespace relay::scalar
