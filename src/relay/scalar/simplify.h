// Proofs about integer expressions: a normal form, intervals, equality and order.
#pragma once

#include <optional>
#include <unordered_map>

#include "relay/scalar/expr.h"

namespace relay::scalar {

// A closed range of integers; an absent end is infinite.
struct Interval {
  std::optional<int64_t> min, max;
  static Interval point(int64_t v) { return {v, v}; }
  static Interval everything() { return {}; }
};

// Known facts about variables (by identity). A size without facts is at least 0; data may be any number.
class Bounds {
 public:
  struct Known {
    Expr var;
    Interval range;
    Expr min, max;  // symbolic ends, both inclusive; null if absent
  };
  void set(const Expr& var, Interval range) { known_[var.get()] = {var, range, {}, {}}; }
  void set(const Expr& var, int64_t min, int64_t extent) { set(var, Interval{min, min + extent - 1}); }
  // min <= var < min + extent, over other variables: the axis of a loop. Proves, for example, y < h for y in 0..h.
  void set_range(const Expr& var, const Expr& min, const Expr& extent);
  std::optional<Interval> find(const Expr& var) const {
    const Known* known = find_known(var);
    return known ? std::optional(known->range) : std::nullopt;
  }
  const Known* find_known(const Expr& var) const {
    auto it = known_.find(var.get());
    return it == known_.end() ? nullptr : &it->second;
  }

 private:
  std::unordered_map<const Node*, Known> known_;
};

// The normal form of an int64 or Bool expression: a sum of coefficient * product terms in canonical order plus a
// constant. Floor division, modulo, min, max, select and comparisons are simplified by facts that `bounds` proves.
// Index arithmetic is assumed not to overflow; int64 data wraps around, and only what is true of it modulo 2^64, or of
// all its values, is used (expr.h). Vectors: sums and multiples of ramps and broadcasts become one ramp or
// broadcast. Other dtypes: the children are simplified, the values stay bit-identical. simplify(simplify(e)) equals
// simplify(e).
Expr simplify(const Expr& e, const Bounds& bounds = {});

// The range of values of an integer expression.
Interval interval(const Expr& e, const Bounds& bounds = {});

// True if proved and false if refuted for all values within bounds; nullopt if unknown.
std::optional<bool> prove(const Expr& condition, const Bounds& bounds = {});
std::optional<bool> prove_equal(const Expr& a, const Expr& b, const Bounds& bounds = {});

// e = sum(coefficients[i] * vars[i]) + rest, where rest contains none of vars; nullopt if e is not of that form (with
// constant integer coefficients).
struct Affine {
  std::vector<int64_t> coefficients;
  Expr rest;
};
std::optional<Affine> as_affine(const Expr& e, const Exprs& vars);

// The value of an integer expression whose variables all have values; nullopt on an unbound variable, Any, division by
// zero or overflow.
std::optional<int64_t> evaluate(const Expr& e, const std::vector<std::pair<Expr, int64_t>>& values);

}  // namespace relay::scalar
