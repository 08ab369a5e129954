// Operators that search for elements, or put them at specified places.
#include "relay/frontend/common/ops/unique.h"
#include "relay/frontend/onnx/computed.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx {

using ir::Expr;
using ir::Ints;

namespace convert {

namespace {

// The indices of non-zero elements, one per row: (K, rank) int64.
Expr places(Convert& c, const Expr& e) { return c.cast(c.emit("argwhere", {e}), DType::int64()); }

// Relay's name of an ONNX reduction; "" if there is none.
std::string reduction(Convert& c) {
  const std::string name = c.text("reduction", "none");
  if (name == "none") return "update";
  if (c.value(0).carried) return c.bad("reduction is '{}' of strings", name), "";
  if (name == "add" || name == "mul" || name == "min" || name == "max") return name;
  c.bad("reduction is '{}', not none, add, mul, min or max", name);
  return "";
}

// ONNX keeps an index tuple in the last axis of indices, Relay in the first.
Expr places_first(Convert& c, const Expr& indices) {
  Ints order{c.rank(indices) - 1};
  for (int64_t i = 0; i < c.rank(indices) - 1; ++i) order.push_back(i);
  return c.transpose(indices, order);
}

}  // namespace

Values NonZero(Convert& c) {
  Expr x = c.input(0);
  if (c.rank(x) == 0) x = c.reshape(x, {scalar::imm(1)});
  return {c.transpose(places(c, x), {1, 0})};
}

// The slices along an axis (or elements, without one) for which the condition holds, which may be shorter than the
// axis.
Values Compress(Convert& c) {
  Expr x = c.input(0), condition = c.input(1);
  if (!c.expect_rank(condition, 1, 1, "the condition")) return {};
  Expr indices = c.squeeze(places(c, condition), 1);
  if (!c.has_attribute("axis")) return {c.emit("take", {x, indices}, {{"mode", "checked"}})};
  std::optional<int64_t> axis = c.axis(c.integer("axis", 0), c.rank(x));
  if (!axis) return {};
  return {c.emit("take", {x, indices}, {{"axis", *axis}, {"mode", "checked"}})};
}

Values ScatterElements(Convert& c) {
  Expr x = c.input(0);
  std::optional<int64_t> axis = c.axis(c.integer("axis", 0), c.rank(x));
  const std::string how = reduction(c);
  if (!axis || how.empty()) return {};
  return {c.emit("scatter_elements", {x, c.input(1), c.input(2)}, {{"axis", *axis}, {"reduction", how}})};
}
Values Scatter(Convert& c) { return ScatterElements(c); }  // its name before opset 11

Values ScatterND(Convert& c) {
  Expr indices = c.input(1);
  const std::string how = reduction(c);
  if (how.empty() || !c.expect_rank(indices, 1, 32, "indices")) return {};
  return {c.emit("scatter_nd", {c.input(0), places_first(c, indices), c.input(2)}, {{"mode", how}})};
}

// Distinct slices along an axis. Compares all pairs of slices, element by element in order.
static Values unique_slices(Convert& c, const Expr& x) {
  std::optional<int64_t> axis = c.axis(c.integer("axis", 0), c.rank(x));
  if (!axis) return {};
  const ir::Dims& shape = c.shape(x);
  int64_t size = 1, slices = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!is_int(shape[i])) return c.unsized("slices of {}; sizes must be fixed", ir::str(x->type));
    int64_t& of = static_cast<int64_t>(i) == *axis ? slices : size;
    if (__builtin_mul_overflow(of, shape[i]->ivalue, &of)) return c.bad("X is {}", ir::str(x->type));
  }
  if (slices == 0 || size == 0) {  // no slices, or slices that are all equal
    const int64_t one = std::min<int64_t>(slices, 1);
    auto numbers = [&](int64_t count, int64_t value) {
      return c.broadcast_to(c.integer_scalar(value), {scalar::imm(count)});
    };
    return {c.slice(x, *axis, 0, one), numbers(one, 0), numbers(slices, 0), numbers(one, slices)};
  }
  if (size > (int64_t{1} << 26) / slices / slices)
    return c.unsupported("{} slices of {} elements; comparing all pairs would take too much memory", slices, size);
  Ints order{*axis};
  for (int64_t i = 0; i < c.rank(x); ++i)
    if (i != *axis) order.push_back(i);
  const Expr rows = c.reshape(c.transpose(x, order), {scalar::imm(slices), scalar::imm(size)});
  const Expr left = c.expand(rows, 1), right = c.expand(rows, 0), differs = c.emit("not_equal", {left, right});
  // (slices, slices): pairs that are equal, and pairs whose first is less at their first difference.
  const Expr same = c.emit("logical_not", {c.reduce("any", differs, {2}, false)});
  auto first_of = [&](const Expr& e, int64_t along) {
    return c.cast(c.emit("argmax", {c.cast(e, DType::int32())}, {{"axis", Ints{along}}}), DType::int64());
  };
  const Expr less = c.cast(c.emit("less", {left, right}), DType::int32());
  const Expr place = c.expand(first_of(differs, 2), 2);
  const Expr is_less = c.squeeze(c.emit("gather", {less, place}, {{"axis", int64_t{2}}}), 2);
  const Expr rank = c.reduce("sum", c.cast(is_less, DType::int64()), {0}, false);  // the number of slices that are less
                                                                                   // than it
  const Expr first = first_of(same, 1), counts = c.reduce("sum", c.cast(same, DType::int64()), {1}, false);
  auto take = [&](const Expr& e, const Expr& at, int64_t along) {
    return c.emit("take", {e, at}, {{"axis", along}, {"mode", "clip"}});
  };
  Expr kept = c.squeeze(places(c, c.emit("equal", {first, c.count_up(rows, 0)})), 1);
  if (c.integer("sorted", 1)) {
    Expr by_rank = c.emit("argsort", {take(rank, kept, 0)}, {{"axis", int64_t{0}}, {"dtype", DType::int64()}});
    kept = take(kept, by_rank, 0);
  }
  const Expr inverse = first_of(c.emit("equal", {c.expand(first, 1), c.expand(kept, 0)}), 1);
  return {take(x, kept, *axis), kept, inverse, take(counts, kept, 0)};
}

// Distinct elements, in ascending order or in that of their first places.
Values Unique(Convert& c) {
  Expr x = c.input(0);
  const bool sorted = c.integer("sorted", 1) != 0;
  if (sorted && c.value(0).carried)
    return c.refused("it sorts strings, whose order is unknown at run time",
                     "export it with sorted=0, the order in which they first appear");
  const bool slices = c.has_attribute("axis") && c.rank(x) != 1;
  Values results = slices ? unique_slices(c, x) : unique_elements(c, x, sorted);
  if (!results.empty()) results[0].carried = c.value(0).carried;
  return results;
}

// Reverses the first elements of each sequence, up to its length.
Values ReverseSequence(Convert& c) {
  Expr x = c.input(0), lengths = c.cast(c.input(1), DType::int64());
  const int64_t time = c.integer("time_axis", 0), batch = c.integer("batch_axis", 1);
  if (time + batch != 1 || time * batch != 0) return c.bad("time_axis is {}, batch_axis {}", time, batch);
  if (!c.expect_rank(x, 2, 32, "the data") || !c.expect_rank(lengths, 1, 1, "sequence_lens")) return {};
  lengths = refused_where(c, lengths, not_within(c, lengths, c.integer_scalar(0), c.size_of(x, time)),
                          "a value in sequence_lens is negative, or exceeds the number of steps of the data",
                          "give the length of each sequence, from 0 to the number of steps");
  Expr steps = c.expand(c.count_up(x, time), batch), length = c.expand(lengths, time);
  Expr reversed = c.add(c.subtract(length, steps), -1);
  Expr indices = c.emit("where", {c.emit("less", {steps, length}), reversed, steps});
  for (int64_t i = 2; i < c.rank(x); ++i) indices = c.expand(indices, i);
  return {c.emit("gather", {x, c.emit("broadcast_to_like", {indices, x})}, {{"axis", time}})};
}

// 1 at the first largest element along an axis, 0 elsewhere. Before opset 13 the axes after it are merged with it.
Values Hardmax(Convert& c) {
  Expr x = c.input(0);
  std::optional<int64_t> axis = c.axis(c.integer("axis", c.opset < 13 ? 1 : -1), c.rank(x));
  if (!axis) return {};
  const ir::Dims shape = c.shape(x);
  int64_t at = *axis;
  if (c.opset < 13) {
    scalar::Expr rows = scalar::imm(1), columns = scalar::imm(1);
    for (int64_t i = 0; i < c.rank(x); ++i) (i < at ? rows : columns) = (i < at ? rows : columns) * shape[i];
    x = c.reshape(x, {scalar::simplify(rows), scalar::simplify(columns)}), at = 1;
  }
  if (c.extent(x, at) == 0) return {c.input(0)};
  Expr best = c.cast(c.emit("argmax", {x}, {{"axis", Ints{at}}, {"keepdims", true}}), DType::int64());
  Expr place = c.count_up(x, at);
  for (int64_t i = at + 1; i < c.rank(x); ++i) place = c.expand(place, i - at);
  return {c.reshape(c.cast(c.emit("equal", {c.emit("broadcast_to_like", {place, x}), best}), c.dtype(x)), shape)};
}

// Data with rows replaced from a place on, one place for each batch, as in caches of attention; "circular" wraps around
// at the end.
Values TensorScatter(Convert& c) {
  Expr x = c.input(0), update = c.input(1);
  std::optional<int64_t> axis = c.axis(c.integer("axis", -2), c.rank(x));
  const std::string mode = c.text("mode", "linear");
  if (!axis || *axis == 0) return c.failed() ? Values() : c.bad("axis is the batch axis");
  if (mode != "linear" && mode != "circular") return c.bad("mode is '{}', not linear or circular", mode);
  Expr index = c.count_up(update, *axis);
  for (int64_t i = *axis + 1; i < c.rank(x); ++i) index = c.expand(index, i - *axis);
  if (c.has(2)) {
    Expr begin = c.cast(c.input(2), DType::int64());
    for (int64_t i = 1; i < c.rank(x); ++i) begin = c.expand(begin, i);
    index = c.add(index, begin);
  }
  if (mode == "circular") index = c.emit("floor_mod", {index, c.size_of(x, *axis)});
  index = c.emit("broadcast_to_like", {index, update});
  return {c.emit("scatter_elements", {x, index, update}, {{"axis", *axis}})};
}

}  // namespace convert
}  // namespace relay::onnx
