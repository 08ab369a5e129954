// The simplifier's parts, for simplifier.cpp (index arithmetic), simplify_data.cpp (int64 data) and
// simplify_conditions.cpp (everything else).
#pragma once

#include <unordered_map>

#include "relay/scalar/linear.h"
#include "relay/scalar/simplify.h"

namespace relay::scalar::simplifier {

inline bool is_int64(const Expr& e) { return e->dtype == DType::int64(); }
inline bool is_op(const Expr& e, BinaryOp op) { return e->kind == Kind::Binary && e->binary == op; }

// The value of a Boolean that is constant and equal in every lane.
inline std::optional<bool> truth(const Expr& e) {
  const Expr& s = e->kind == Kind::Broadcast ? e->args[0] : e;
  if (s->kind == Kind::Int && s->dtype.is_bool()) return s->ivalue != 0;
  return std::nullopt;
}

inline Expr boolean(bool value, int lanes) { return imm(value, DType::boolean().with_lanes(lanes)); }

// base + stride * lane: a Ramp or a Broadcast of int64.
struct Lanes {
  Linear base;
  int64_t stride = 0;
};

// Each method returns the normal form of the node kind in its name. Linears are sums of products (linear.h), of two
// kinds that are never mixed:
//
// - A sum of index arithmetic is a number. Terms may cross to the other side of a comparison, and a quotient may be
//   taken term by term. Data stands in it as the atom as_index(x), an unknown number.
// - A sum of data is a number modulo 2^64. Terms may be collected, and products expanded, but nothing else is known of
//   it, unless the range of the same sum of index arithmetic shows that it does not wrap around.
class Simplifier {
 public:
  explicit Simplifier(const Bounds& bounds) : bounds_(bounds) {}

  Expr simplify(const Expr& e);
  // The number that e, an int64 of either kind, has: a sum of index arithmetic.
  Linear linear(const Expr& e);

 private:
  template <class T, class F>
  T remember(std::unordered_map<const Node*, T>& memo, const Expr& e, F compute) {
    if (e->use_count() < 2) return compute();  // not shared
    auto it = memo.find(e.get());
    if (it != memo.end()) return it->second;
    T result = compute();
    memo.emplace(e.get(), result);
    return result;
  }

  static Linear atom(const Expr& e) { return split(as_index(e)); }
  static Linear negated(const Linear& l);
  static std::optional<Linear> difference(const Linear& a, const Linear& b);
  // simplify_data.cpp
  Expr data(const Expr& e);
  Linear wrapping(const Expr& e);
  Linear wrapping_operation(const Expr& e);
  std::optional<Linear> wrapping_sum(const Expr& e);
  std::optional<Linear> exact_operation(const Expr& e);
  std::optional<Linear> without_wrapping(const Linear& sum) const;
  Linear number(const Linear& sum) const;
  Linear number_of_normal(const Expr& e) const { return e->index ? split(e) : number(split(e)); }
  bool may_wrap(const Linear& sum) const;

  Linear index(const Expr& e);
  Linear index_unary(const Expr& e);
  Linear index_binary(const Expr& e);
  Linear sum(const Expr& e);
  Linear product(const Expr& e);
  static void reduce(const Linear& n, int64_t c, Linear* quotient, Linear* rest);
  std::optional<int64_t> constant_quotient(const Linear& l, int64_t c);
  int64_t split_by_divisor(const Linear& l, int64_t c, Linear* multiple, Linear* rest);
  bool negative(const Linear& n, Linear* minus) const;
  Linear divide(Linear n, Linear d);
  static Linear divide_atom(const Linear& n, int64_t c) { return atom(floordiv(join(n), imm(c))); }
  static Linear modulo_atom(const Linear& n, int64_t c) { return atom(floormod(join(n), imm(c))); }
  static bool reduce_symbolic(const Linear& n, const Linear& d, Linear* quotient, Linear* rest);
  bool below(const Linear& l, const Linear& d);
  Linear divide_symbolic(const Linear& n, const Linear& d);
  Linear modulo_symbolic(const Linear& n, const Linear& d);
  Linear modulo(Linear n, Linear d);
  Linear recombine(Linear l);
  bool recombine_term(Linear* l, size_t i, const Expr& mod);
  Linear extremum(BinaryOp op, const Linear& a, const Linear& b);
  Expr other(const Expr& e);
  Expr negate(const Expr& e);
  Expr compared(BinaryOp op, const Expr& a, const Expr& b);
  Expr connective(const Expr& e);
  Expr comparison(BinaryOp op, const Linear& a, const Linear& b);
  static int64_t divisor(const Linear& l);
  static void shrink(Linear* l, int64_t g, int64_t constant);
  Expr two_sided(BinaryOp op, const Linear& d, int64_t constant) const;
  static std::optional<Lanes> as_lanes(const Expr& e);
  static Expr from_lanes(const Linear& base, int64_t stride, int lanes);
  Expr vector(const Expr& e, const Exprs& args);
  Expr vector_comparison(BinaryOp op, const Lanes& a, const Lanes& b, int lanes);

  const Bounds& bounds_;
  std::unordered_map<const Node*, Expr> exprs_;
  std::unordered_map<const Node*, Linear> linears_, wrapping_;
};

}  // namespace relay::scalar::simplifier
