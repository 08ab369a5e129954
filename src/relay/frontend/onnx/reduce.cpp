// Reductions over axes.
#include "relay/frontend/onnx/convert.h"

namespace relay::onnx::convert {

using ir::Expr;
using ir::Ints;

namespace {

// Axes, an attribute before opset 13 (ReduceSum) or 18 and an input since, and whether they stay with extent 1.
struct Reduction {
  bool none = false;  // noop_with_empty_axes
  Ints axes;          // empty: all
  bool keepdims = true;
};

std::optional<Reduction> read(Convert& c, const Expr& x) {
  Reduction r;
  r.keepdims = c.integer("keepdims", 1) != 0;
  std::optional<Ints> given = c.ints_attribute_or_input("axes", 1);
  if (c.failed()) return std::nullopt;
  std::optional<Ints> axes = c.axes(given.value_or(Ints()), c.rank(x));
  if (!axes) return std::nullopt;
  r.axes = *axes;
  r.none = r.axes.empty() && c.integer("noop_with_empty_axes", 0);
  return r;
}

Values reduce(Convert& c, const char* op) {
  Expr x = c.input(0);
  std::optional<Reduction> r = read(c, x);
  if (!r) return {};
  return {r->none ? x : c.reduce(op, x, r->axes, r->keepdims)};
}

}  // namespace

Values ReduceSum(Convert& c) { return reduce(c, "sum"); }
Values ReduceMean(Convert& c) { return reduce(c, "mean"); }
Values ReduceMax(Convert& c) { return reduce(c, c.dtype(c.input(0)).is_bool() ? "any" : "max"); }
Values ReduceMin(Convert& c) { return reduce(c, c.dtype(c.input(0)).is_bool() ? "all" : "min"); }

// Of a list of sizes: the number of elements, known at import.
Values ReduceProd(Convert& c) {
  KnownRef sizes = c.known(0);
  bool all = sizes && sizes->shape.size() == 1;
  if (all && c.has_attribute("axes")) all = c.ints("axes") == Ints{0} || c.ints("axes") == Ints{-1};
  if (all && c.has(1)) all = false;
  if (all)
    if (KnownRef count = product(*sizes)) return {c.integer("keepdims", 1) ? reshaped(*count, {1}) : count};
  return reduce(c, "prod");
}

Values ReduceL1(Convert& c) {
  Expr x = c.input(0);
  std::optional<Reduction> r = read(c, x);
  if (!r) return {};
  Expr size = c.emit("abs", {x});
  return {r->none ? size : c.reduce("sum", size, r->axes, r->keepdims)};
}

Values ReduceSumSquare(Convert& c) {
  Expr x = c.input(0);
  std::optional<Reduction> r = read(c, x);
  if (!r) return {};
  Expr square = c.multiply(x, x);
  return {r->none ? square : c.reduce("sum", square, r->axes, r->keepdims)};
}

Values ReduceL2(Convert& c) {
  Values squares = ReduceSumSquare(c);
  return squares.empty() ? squares : Values{c.emit("sqrt", {squares[0].expr})};
}

Values ReduceLogSum(Convert& c) {
  Values sum = ReduceSum(c);
  return sum.empty() ? sum : Values{c.emit("log", {sum[0].expr})};
}

// log(sum(exp(x))), the largest element taken out so that nothing overflows.
Values ReduceLogSumExp(Convert& c) {
  Expr x = c.input(0);
  std::optional<Reduction> r = read(c, x);
  if (!r) return {};
  if (r->none) return {x};
  Expr largest = c.reduce("max", x, r->axes, true);
  Expr sum = c.reduce("sum", c.emit("exp", {c.subtract(x, largest)}), r->axes, r->keepdims);
  Expr shift = r->keepdims ? largest : c.reduce("max", x, r->axes, r->keepdims);
  return {c.add(c.emit("log", {sum}), shift)};
}

// The place of the greatest (least) element along an axis, as int64.
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
