// Reductions over axes.
#include <algorithm>
#include <cmath>

#include "relay/frontend/common/ops/curves.h"
#include "relay/frontend/onnx/computed.h"

namespace relay::onnx::convert {

using ir::Expr;
using ir::Ints;

namespace {

// Axes, an attribute before opset 13 (ReduceSum) or 18 and an input since then, and a flag that keeps them with extent
// 1.
struct Reduction {
  bool none = false;  // noop_with_empty_axes
  Ints axes;          // empty: all axes
  Expr computed;      // axes that are computed at run time; null: those above
  bool keepdims = true;
};

std::optional<Reduction> read(Convert& c, const Expr& x) {
  Reduction r;
  r.keepdims = c.integer("keepdims", 1) != 0;
  const bool computed = !c.has_attribute("axes") && c.has(1) && !c.known(1) && c.extent(c.input(1), 0) != 0;
  if (computed) {
    r.computed = c.cast(c.input(1), DType::int64());
    if (!c.expect_rank(r.computed, 1, 1, "axes")) return std::nullopt;
    r.computed = checked_places(c, r.computed, c.rank(x), "a value in axes");
    if (!c.extent(r.computed, 0) && (!r.keepdims || c.integer("noop_with_empty_axes", 0)))
      return c.unsupported("it drops axes whose number is known only at run time");
    return r;
  }
  const bool empty = !c.has_attribute("axes") && c.has(1) && !c.known(1);
  std::optional<Ints> given = empty ? std::optional(Ints()) : c.ints_attribute_or_input("axes", 1);
  if (c.failed()) return std::nullopt;
  std::optional<Ints> axes = c.axes(given.value_or(Ints()), c.rank(x));
  if (!axes) return std::nullopt;
  r.axes = *axes;
  r.none = r.axes.empty() && c.integer("noop_with_empty_axes", 0);
  return r;
}

using Reducer = function_ref<Expr(const Expr& x, const Ints& axes, bool keepdims)>;

// Over axes that are computed at run time: reduces along each in turn, or not.
Expr over_computed(Convert& c, Reducer reducer, Expr x, const Reduction& r) {
  const int64_t rank = c.rank(x);
  for (int64_t i = 0; i < rank; ++i) {
    auto names = [&](int64_t axis) { return c.emit("equal", {r.computed, c.integer_scalar(axis)}); };
    Expr here = c.emit("any", {c.emit("logical_or", {names(i), names(i - rank)})});
    if (!c.extent(r.computed, 0))  // an empty list means all axes
      here = c.emit("logical_or", {here, c.emit("equal", {c.size_of(r.computed, 0), c.integer_scalar(0)})});
    if (!x) return nullptr;
    // Nothing is read along another axis: there is no element to compute, and any slice has the shape.
    const ir::Dims& shape = c.shape(x);
    const bool nothing = c.extent(x, i).value_or(0) > 0 &&
                         std::any_of(shape.begin(), shape.end(), [](const ir::Dim& d) { return is_int(d, 0); });
    Expr reduced = nothing ? c.slice(x, i, 0, 1) : reducer(x, {i}, true);
    if (!reduced) return nullptr;
    x = c.choose_as(common_type(reduced->type, x->type), here, reduced, x);
  }
  return r.keepdims ? x : c.emit("dyn.squeeze", {x, r.computed});
}

Expr over(Convert& c, Reducer reducer, const Expr& x, const Reduction& r) {
  if (r.none) return x;
  return r.computed ? over_computed(c, reducer, x, r) : reducer(x, r.axes, r.keepdims);
}

Expr over(Convert& c, const char* op, const Expr& x, const Reduction& r) {
  return over(c, [&](const Expr& e, const Ints& axes, bool keepdims) { return c.reduce(op, e, axes, keepdims); }, x, r);
}

Values reduce(Convert& c, const char* op) {
  Expr x = c.input(0);
  std::optional<Reduction> r = read(c, x);
  if (!r) return {};
  return {over(c, op, x, *r)};
}

}  // namespace

Values ReduceSum(Convert& c) { return reduce(c, "sum"); }
Values ReduceMean(Convert& c) { return reduce(c, "mean"); }
Values ReduceMax(Convert& c) { return reduce(c, c.dtype(c.input(0)).is_bool() ? "any" : "max"); }
Values ReduceMin(Convert& c) { return reduce(c, c.dtype(c.input(0)).is_bool() ? "all" : "min"); }

// The product of a list of sizes, the number of elements, is known at import.
Values ReduceProd(Convert& c) {
  KnownRef sizes = c.known(0);
  bool all = sizes && sizes->shape.size() == 1;
  if (all && c.has_attribute("axes")) all = c.ints("axes") == Ints{0} || c.ints("axes") == Ints{-1};
  if (all && c.has(1)) all = false;
  if (all)
    if (KnownRef count = product(*sizes))
      return {c.known_result(c.integer("keepdims", 1) ? reshaped(*count, {1}) : count,
                             [&] { return reduce(c, "prod")[0].expr; })};
  return reduce(c, "prod");
}

// after(sum(before(x))), in which the sums of halves are float32.
static Values sum_between(Convert& c, const char* after, function_ref<Expr(const Expr&)> before) {
  Expr x = c.input(0);
  std::optional<Reduction> r = read(c, x);
  if (!r) return {};
  return {computed_exactly(c, x, [&](const Expr& e) {
    Expr sum = over(c, "sum", before(e), *r);
    return after ? c.emit(after, {sum}) : sum;
  })};
}

Values ReduceL1(Convert& c) {
  return sum_between(c, nullptr, [&](const Expr& x) { return c.emit("abs", {x}); });
}
Values ReduceSumSquare(Convert& c) {
  return sum_between(c, nullptr, [&](const Expr& x) { return c.multiply(x, x); });
}
Values ReduceL2(Convert& c) {
  return sum_between(c, "sqrt", [&](const Expr& x) { return c.multiply(x, x); });
}
Values ReduceLogSum(Convert& c) {
  return sum_between(c, "log", [&](const Expr& x) { return x; });
}

// log(sum(exp(x))), with the largest element factored out so that nothing overflows.
static Expr log_sum_exp(Convert& c, const Expr& x, const Ints& axes, bool keepdims) {
  const DType dtype = c.dtype(x);
  const Expr largest = c.reduce("max", x, axes, true);
  // If all elements are -inf, nothing is factored out.
  const Expr infinite = c.emit("equal", {c.emit("abs", {largest}), c.scalar(INFINITY, dtype)});
  const Expr shift = c.emit("where", {infinite, c.scalar(0, dtype), largest});
  const Expr sum = c.add(c.emit("log", {c.reduce("sum", c.emit("exp", {c.subtract(x, shift)}), axes, true)}), shift);
  Ints dropped = axes;
  if (axes.empty())
    for (int64_t i = 0; i < c.rank(x); ++i) dropped.push_back(i);
  return keepdims || dropped.empty() ? sum : c.emit("squeeze", {sum}, {{"axis", dropped}});
}

Values ReduceLogSumExp(Convert& c) {
  Expr x = c.input(0);
  std::optional<Reduction> r = read(c, x);
  if (!r) return {};
  auto reducer = [&](const Expr& e, const Ints& axes, bool keepdims) { return log_sum_exp(c, e, axes, keepdims); };
  return {computed_exactly(c, x, [&](const Expr& e) { return over(c, reducer, e, *r); })};
}

// The place of the largest (smallest) element along an axis, as int64.
static Values place(Convert& c, const char* op) {
  Expr x = c.input(0);
  std::optional<int64_t> axis = c.axis(c.integer("axis", 0), c.rank(x));
  if (!axis) return {};
  Expr index = c.emit(op, {x},
                      {{"axis", Ints{*axis}},
                       {"keepdims", c.integer("keepdims", 1) != 0},
                       {"select_last_index", c.integer("select_last_index", 0) != 0}});
  return {c.cast(index, DType::int64())};
}
Values ArgMax(Convert& c) { return place(c, "argmax"); }
Values ArgMin(Convert& c) { return place(c, "argmin"); }

}  // namespace relay::onnx::convert
