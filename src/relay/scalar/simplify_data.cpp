// simplify: int64 data, which wraps around.
//
//   3 + x - 1 + y          ->   x + y + 2            a sum modulo 2^64
//   x - 1 < c              ->   x - 1 < c            not x <= c: x - 1 may be the greatest number
//   max(x, 0) < -3         ->   false                x is a number, whatever it is
//   as_data(i) * 4 + 1     ->   as_data(i * 4 + 1)   if i is below 100: nothing wraps around
#include <algorithm>

#include "relay/scalar/simplifier.h"

namespace relay::scalar::simplifier {

// The sum over the other kind of terms. A sum of index arithmetic inside as_data is one term of data.
static std::optional<Linear> relabelled(const Linear& sum, bool index) {
  Linear out{{}, sum.constant};
  for (const Term& t : sum.terms)
    if (!add(&out, split(index ? as_index(t.product) : as_data(t.product)), t.coefficient)) return std::nullopt;
  return out;
}

// True if the sum is one of its terms, or a constant: then it is computed without arithmetic.
static bool is_plain(const Linear& sum) {
  return sum.is_constant() || (sum.terms.size() == 1 && sum.terms[0].coefficient == 1 && sum.constant == 0);
}

static bool holds_data(const Linear& sum) {
  bool found = false;
  for (const Term& t : sum.terms)
    if (!found && t.product->kind != Kind::Var) visit(t.product, [&](const Expr& e) { found |= is_relabel(e); });
  return found;
}

// True if computing this sum of index arithmetic might overflow: it adds to data, which may be any number.
bool Simplifier::may_wrap(const Linear& sum) const {
  if (is_plain(sum) || !holds_data(sum)) return false;
  const Interval range = range_of(sum, bounds_);
  return !range.min || !range.max;
}

// The same sum as index arithmetic, if no value within bounds makes it wrap around.
std::optional<Linear> Simplifier::without_wrapping(const Linear& sum) const {
  std::optional<Linear> same = relabelled(sum, true);
  if (!same) return std::nullopt;
  const Interval range = range_of(*same, bounds_);
  return range.min && range.max ? same : std::nullopt;
}

// The number that a sum of data has: the same sum, or an unknown number.
Linear Simplifier::number(const Linear& sum) const {
  if (sum.is_constant()) return sum;
  if (!is_plain(sum))
    if (std::optional<Linear> same = without_wrapping(sum)) return *same;
  return split(as_index(join(sum)));
}

Expr Simplifier::data(const Expr& e) {
  if (is_relabel(e)) return as_data(join(linear(e->args[0])));
  const Linear sum = wrapping(e);
  const bool of_indices =
      std::all_of(sum.terms.begin(), sum.terms.end(), [](const Term& t) { return is_relabel(t.product); });
  if (of_indices && !is_plain(sum))
    if (std::optional<Linear> same = without_wrapping(sum)) return as_data(join(recombine(std::move(*same))));
  return join(sum);
}

// e as a sum of data.
Linear Simplifier::wrapping(const Expr& e) {
  if (e->kind == Kind::Int) return {{}, e->ivalue};
  if (e->index || is_relabel(e)) {
    const Linear sum = linear(without_relabel(e));
    std::optional<Linear> same = relabelled(sum, false);
    return same ? *same : split(as_data(join(sum)));
  }
  if (e->kind == Kind::Var) {
    const Bounds::Known* known = bounds_.find_known(e);
    const bool point = known && known->range.min && known->range.max && *known->range.min == *known->range.max;
    return point ? Linear{{}, *known->range.min} : split(e);
  }
  return remember(wrapping_, e, [&] { return wrapping_operation(e); });
}

Linear Simplifier::wrapping_operation(const Expr& e) {
  if (std::optional<Linear> sum = wrapping_sum(e)) return *sum;
  if (std::optional<Linear> number = exact_operation(e))
    if (std::optional<Linear> same = relabelled(*number, false)) return *same;
  if (e->kind == Kind::Select) {
    const Expr c = simplify(e->args[0]);
    if (const std::optional<bool> known = truth(c)) return wrapping(e->args[*known ? 1 : 2]);
    const Expr then = simplify(e->args[1]), otherwise = simplify(e->args[2]);
    const Expr chosen = equal(then, otherwise) ? then : scalar::select(c, then, otherwise);
    return chosen->index ? wrapping(chosen) : split(chosen);
  }
  Exprs args = e->args;
  for (Expr& a : args) a = simplify(a);
  const Expr simpler = with_args(e, std::move(args));
  return simpler->index ? wrapping(simpler) : split(simpler);
}

// A sum, difference, product or negation.
std::optional<Linear> Simplifier::wrapping_sum(const Expr& e) {
  const bool negation = e->kind == Kind::Unary && e->unary == UnaryOp::Neg;
  const bool product = is_op(e, BinaryOp::Mul), difference = is_op(e, BinaryOp::Sub);
  if (!negation && !product && !difference && !is_op(e, BinaryOp::Add)) return std::nullopt;
  Linear a = wrapping(e->args[0]), out;
  if (negation) return add(&out, a, -1) ? std::optional(out) : std::nullopt;
  const Linear b = wrapping(e->args[1]);
  if (product) return multiply(a, b, &out) ? std::optional(out) : std::nullopt;
  return add(&a, b, difference ? -1 : 1) ? std::optional(a) : std::nullopt;
}

// An operation whose result follows from the numbers of its operands, and fits if they do.
std::optional<Linear> Simplifier::exact_operation(const Expr& e) {
  if (e->kind == Kind::Unary && e->unary == UnaryOp::Abs) {
    const Linear a = linear(e->args[0]);
    return at_least(a, 0, bounds_) ? std::optional(a) : std::nullopt;
  }
  if (e->kind != Kind::Binary) return std::nullopt;
  const bool quotient = e->binary == BinaryOp::FloorDiv || e->binary == BinaryOp::TruncDiv;
  const bool truncated = e->binary == BinaryOp::TruncDiv || e->binary == BinaryOp::TruncMod;
  const bool extreme = e->binary == BinaryOp::Min || e->binary == BinaryOp::Max;
  if (!extreme && !quotient && !truncated && e->binary != BinaryOp::FloorMod) return std::nullopt;
  const Linear a = linear(e->args[0]), b = linear(e->args[1]);
  if (extreme) return extremum(e->binary, a, b);
  if (!at_least(b, 1, bounds_) || (truncated && !at_least(a, 0, bounds_))) return std::nullopt;
  // Rules for quotients add to what they divide.
  if (!holds_data(a) && !holds_data(b)) return recombine(quotient ? divide(a, b) : modulo(a, b));
  if (!b.is_constant() || constant_quotient(a, b.constant) != 0) return std::nullopt;
  return quotient ? Linear() : a;
}

}  // namespace relay::scalar::simplifier
