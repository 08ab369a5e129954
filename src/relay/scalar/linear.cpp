// Linear: addition, multiplication and conversion. See linear.h.
#include "relay/scalar/linear.h"

#include <algorithm>

namespace relay::scalar {

int64_t floor_div(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }
int64_t floor_mod(int64_t a, int64_t b) {
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static bool is_binary(const Expr& e, BinaryOp op) { return e->kind == Kind::Binary && e->binary == op; }

// Sorts, merges equal products and drops zeros; false on overflow.
static bool normalise(Linear* l) {
  std::sort(l->terms.begin(), l->terms.end(),
            [](const Term& a, const Term& b) { return compare(a.product, b.product) < 0; });
  size_t out = 0;
  for (size_t i = 0; i < l->terms.size(); ++i) {
    if (out > 0 && compare(l->terms[out - 1].product, l->terms[i].product) == 0) {
      int64_t& sum = l->terms[out - 1].coefficient;
      if (__builtin_add_overflow(sum, l->terms[i].coefficient, &sum)) return false;
    } else {
      if (out > 0 && l->terms[out - 1].coefficient == 0) --out;
      if (out != i) l->terms[out] = std::move(l->terms[i]);
      ++out;
    }
  }
  if (out > 0 && l->terms[out - 1].coefficient == 0) --out;
  l->terms.resize(out);
  return true;
}

// Appends sign * e; false on overflow.
static bool append(const Expr& root, Linear* l) {
  std::vector<std::pair<const Expr*, int64_t>> work{{&root, 1}};
  while (!work.empty()) {
    auto [e, sign] = work.back();
    work.pop_back();
    const Node& n = **e;
    if (n.kind == Kind::Int) {
      bool overflow = sign > 0 ? __builtin_add_overflow(l->constant, n.ivalue, &l->constant)
                               : __builtin_sub_overflow(l->constant, n.ivalue, &l->constant);
      if (overflow) return false;
    } else if (is_binary(*e, BinaryOp::Add)) {
      work.push_back({&n.args[1], sign});
      work.push_back({&n.args[0], sign});
    } else if (is_binary(*e, BinaryOp::Sub)) {
      work.push_back({&n.args[1], -sign});
      work.push_back({&n.args[0], sign});
    } else if (is_binary(*e, BinaryOp::Mul) && n.args[1]->kind == Kind::Int && n.args[0]->kind != Kind::Int) {
      int64_t c = 0;
      if (__builtin_mul_overflow(n.args[1]->ivalue, sign, &c)) return false;
      l->terms.push_back({n.args[0], c});
    } else {
      l->terms.push_back({*e, sign});
    }
  }
  return true;
}

Linear split(const Expr& normal) {
  if (normal->kind == Kind::Int) return {{}, normal->ivalue};
  bool sum = normal->kind == Kind::Binary && normal->dtype == DType::int64() &&
             (normal->binary == BinaryOp::Add || normal->binary == BinaryOp::Sub || normal->binary == BinaryOp::Mul);
  if (!sum) return {{{normal, 1}}, 0};
  Linear l;
  if (append(normal, &l) && normalise(&l)) return l;
  return {{{normal, 1}}, 0};
}

Expr join(const Linear& l) {
  Expr sum;
  auto magnitude = [](const Term& t, int64_t c) { return c == 1 ? t.product : t.product * imm(c); };
  for (const Term& t : l.terms)
    if (t.coefficient > 0) sum = sum ? sum + magnitude(t, t.coefficient) : magnitude(t, t.coefficient);
  bool leading = !sum && l.constant > 0;
  if (leading) sum = imm(l.constant);
  for (const Term& t : l.terms)
    if (t.coefficient < 0) {
      if (!sum)
        sum = t.product * imm(t.coefficient);
      else if (t.coefficient == INT64_MIN)
        sum = sum + t.product * imm(t.coefficient);
      else
        sum = sum - magnitude(t, -t.coefficient);
    }
  if (!sum) return imm(l.constant);
  if (leading || l.constant == 0) return sum;
  return l.constant > 0 || l.constant == INT64_MIN ? sum + imm(l.constant) : sum - imm(-l.constant);
}

bool add(Linear* a, const Linear& b, int64_t factor) {
  int64_t k = 0;
  if (__builtin_mul_overflow(b.constant, factor, &k) || __builtin_add_overflow(a->constant, k, &a->constant))
    return false;
  if (factor == 0 || b.terms.empty()) return true;
  // Merge two sorted lists.
  std::vector<Term> out;
  out.reserve(a->terms.size() + b.terms.size());
  size_t i = 0, j = 0;
  while (i < a->terms.size() || j < b.terms.size()) {
    int c = i == a->terms.size() ? 1 : j == b.terms.size() ? -1 : compare(a->terms[i].product, b.terms[j].product);
    if (c < 0) {
      out.push_back(std::move(a->terms[i++]));
      continue;
    }
    int64_t v = 0;
    if (__builtin_mul_overflow(b.terms[j].coefficient, factor, &v)) return false;
    if (c == 0 && __builtin_add_overflow(v, a->terms[i++].coefficient, &v)) return false;
    if (v != 0) out.push_back({b.terms[j].product, v});
    ++j;
  }
  a->terms = std::move(out);
  return true;
}

bool add(Linear* a, const std::vector<std::pair<Linear, int64_t>>& parts) {
  for (const auto& [part, factor] : parts) {
    int64_t k = 0;
    if (__builtin_mul_overflow(part.constant, factor, &k) || __builtin_add_overflow(a->constant, k, &a->constant))
      return false;
    for (const Term& t : part.terms) {
      if (__builtin_mul_overflow(t.coefficient, factor, &k)) return false;
      a->terms.push_back({t.product, k});
    }
  }
  return normalise(a);
}

Exprs factors(const Expr& product) {
  Exprs out;
  Expr e = product;
  while (is_binary(e, BinaryOp::Mul) && e->dtype == DType::int64()) {
    out.push_back(e->args[1]);
    e = Expr(e->args[0]);
  }
  out.push_back(e);
  std::reverse(out.begin(), out.end());
  return out;
}

Expr product_of(Exprs list) {
  std::sort(list.begin(), list.end(), [](const Expr& a, const Expr& b) { return compare(a, b) < 0; });
  Expr out = list[0];
  for (size_t i = 1; i < list.size(); ++i) out = out * list[i];
  return out;
}

bool has_factor(const Expr& product, const Expr& factor) {
  for (const Expr& f : factors(product))
    if (equal(f, factor)) return true;
  return false;
}

Expr without(const Expr& product, const Expr& factor) {
  Exprs list = factors(product);
  for (size_t i = 0; i < list.size(); ++i)
    if (equal(list[i], factor)) {
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
  return list.empty() ? Expr{} : product_of(std::move(list));
}

bool multiply(const Linear& a, const Linear& b, Linear* out) {
  *out = {};
  if (a.is_constant()) return add(out, b, a.constant);
  if (b.is_constant()) return add(out, a, b.constant);
  if ((a.terms.size() + 1) * (b.terms.size() + 1) > 64) return false;
  for (const Term& x : a.terms)
    for (const Term& y : b.terms) {
      int64_t c = 0;
      if (__builtin_mul_overflow(x.coefficient, y.coefficient, &c)) return false;
      Exprs list = factors(x.product);
      for (const Expr& f : factors(y.product)) list.push_back(f);
      if (list.size() > 16) return false;
      out->terms.push_back({product_of(std::move(list)), c});
    }
  if (!normalise(out)) return false;
  Linear a_terms{a.terms, 0}, b_terms{b.terms, 0};
  return add(out, a_terms, b.constant) && add(out, b_terms, a.constant) &&
         !__builtin_mul_overflow(a.constant, b.constant, &out->constant);
}

std::optional<Affine> as_affine(const Expr& e, const Exprs& vars) {
  Linear l = split(simplify(e));
  Affine out{std::vector<int64_t>(vars.size()), {}};
  Linear rest{{}, l.constant};
  for (const Term& t : l.terms) {
    auto it = std::find(vars.begin(), vars.end(), t.product);
    if (it != vars.end()) {
      out.coefficients[static_cast<size_t>(it - vars.begin())] = t.coefficient;
      continue;
    }
    if (t.product->kind != Kind::Var)
      for (const Expr& v : free_vars(t.product))
        if (std::find(vars.begin(), vars.end(), v) != vars.end()) return std::nullopt;
    rest.terms.push_back(t);
  }
  out.rest = join(rest);
  return out;
}

}  // namespace relay::scalar
