// Linear: the normal form of int64 expressions, as a list of terms.
//
//   8 * y + x - 3 * (m * n) + 5   ->   terms {x: 1, y: 8, m * n: -3}, constant 5
//
// A term's product is an Expr: an atom (variable, division, min, load, ...) or a left-nested product of atoms in
// canonical order. simplify.cpp builds Linears by its rules; this file only adds, multiplies and converts. For use in
// scalar/ and eval/ only.
#pragma once

#include "relay/scalar/simplify.h"

namespace relay::scalar {

struct Term {
  Expr product;
  int64_t coefficient;  // never 0
};

struct Linear {
  std::vector<Term> terms;  // sorted by compare() of the products, which are distinct
  int64_t constant = 0;
  bool is_constant() const { return terms.empty(); }
};

// Splits an expression that is already in normal form; anything except sums and multiples is an atom.
Linear split(const Expr& normal);
Expr join(const Linear& linear);

// a += factor * b; on overflow returns false and leaves a unspecified.
[[nodiscard]] bool add(Linear* a, const Linear& b, int64_t factor = 1);
// The same for all pairs (b, factor) at once.
[[nodiscard]] bool add(Linear* a, const std::vector<std::pair<Linear, int64_t>>& parts);
// The expanded product; false on overflow or if it would have too many terms.
[[nodiscard]] bool multiply(const Linear& a, const Linear& b, Linear* out);

// The atoms of a product, in order, and the inverse.
Exprs factors(const Expr& product);
Expr product_of(Exprs factors);  // at least one factor; sorts
// The product without one of its factors; null if that was the only one.
Expr without(const Expr& product, const Expr& factor);
bool has_factor(const Expr& product, const Expr& factor);

int64_t floor_div(int64_t a, int64_t b);
int64_t floor_mod(int64_t a, int64_t b);

// The range of an integer expression in normal form.
Interval range_of(const Expr& normal, const Bounds& bounds);
Interval range_of(const Linear& linear, const Bounds& bounds);
// True if linear >= target is proven. In addition to intervals, it replaces variables by their symbolic bounds, c * (n
// // c) by its bounds in n, and min and max by their arguments.
bool at_least(const Linear& linear, int64_t target, const Bounds& bounds);

}  // namespace relay::scalar
