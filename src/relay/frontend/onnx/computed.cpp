#include "relay/frontend/onnx/computed.h"

#include <algorithm>

#include "relay/ir/call_of.h"

namespace relay::onnx {

using ir::Expr;
using ir::Ints;

Expr element(Convert& c, const Expr& list, int64_t i) {
  return c.emit("take", {list, c.integer_scalar(i)}, {{"axis", int64_t{0}}});
}

Expr refused_where(Convert& c, const Expr& e, const Expr& wrong, const std::string& message, const std::string& help) {
  const Expr any = c.rank(wrong) > 0 ? c.emit("any", {wrong}) : wrong;
  return c.require(e, c.cast(any, DType::int64()), format("{}\n{}", message, help));
}

Expr not_within(Convert& c, const Expr& e, const Expr& least, const Expr& most) {
  return c.emit("logical_or", {c.emit("less", {e, least}), c.emit("greater", {e, most})});
}

Expr checked_parts(Convert& c, const Expr& sizes, const Expr& extent) {
  const Expr negative = c.emit("any", {c.emit("less", {sizes, c.integer_scalar(0)})});
  const Expr differs = c.emit("not_equal", {c.reduce("sum", sizes, {}, false), extent});
  return refused_where(c, sizes, c.emit("logical_or", {negative, differs}),
                       "the sizes in split do not add up to the size of the axis, or one is negative",
                       "give non-negative sizes whose sum is the size of the axis");
}

Expr checked_places(Convert& c, const Expr& places, int64_t count, const char* what) {
  return refused_where(c, places, not_within(c, places, c.integer_scalar(-count), c.integer_scalar(count - 1)),
                       format("{} is outside of [{}, {})", what, -count, count),
                       format("give an index from {} to {}; negative indices count from the end", -count, count - 1));
}

Expr checked_rows(Convert& c, const Expr& places, const Expr& table, const char* what) {
  const Expr at = c.cast(places, DType::int64()), last = c.add(c.size_of(table, 0), -1);
  return refused_where(c, at, not_within(c, at, c.integer_scalar(0), last), format("{} is outside of its table", what),
                       "give a non-negative index below the number of rows of the table");
}

// Axes computed at run time. A run fails unless each is in range and occurs once.
static Expr checked_axes(Convert& c, const Expr& axes, int64_t rank) {
  if (!axes) return nullptr;
  const Expr there = checked_places(c, axes, rank, "a value in axes");
  const Expr front = c.emit("floor_mod", {there, c.integer_scalar(rank)});
  const Expr same = c.cast(c.emit("equal", {c.expand(front, 1), c.expand(front, 0)}), DType::int64());
  const Expr twice = c.emit("greater", {c.reduce("sum", same, {0}, false), c.integer_scalar(1)});
  return refused_where(c, there, twice, "axes contains an axis twice", "name each axis once");
}

namespace {

Expr between(Convert& c, const Expr& e, const Expr& low, const Expr& high) {
  return c.emit("minimum", {c.emit("maximum", {e, low}), high});  // for an empty axis, high is below low
}

// A list of one value for each of some axes, as a value for each existing axis; `otherwise` for axes that are not in
// the list.
struct ByAxis {
  Convert& c;
  Expr axes;  // null: the first ones in order
  int64_t rank;

  Expr value(const Expr& list, int64_t axis, const Expr& otherwise) const {
    if (!axes) return axis < c.extent(list, 0).value_or(0) ? element(c, list, axis) : otherwise;
    auto names = [&](int64_t i) { return c.emit("equal", {axes, c.integer_scalar(i)}); };
    Expr here = c.emit("logical_or", {names(axis), names(axis - rank)});
    Expr sum = c.reduce("sum", c.emit("where", {here, list, c.integer_scalar(0)}), {}, false);
    return c.emit("where", {c.emit("any", {here}), sum, otherwise});
  }
};

// An expression of int64 from input i, or null.
Expr list_input(Convert& c, size_t i) { return c.has(i) ? c.cast(c.input(i), DType::int64()) : Expr(); }

}  // namespace

Values computed_slice(Convert& c) {
  Expr x = c.input(0), starts = list_input(c, 1), ends = list_input(c, 2), steps = list_input(c, 4);
  if (!c.expect_rank(starts, 1, 1, "starts") || !c.expect_rank(ends, 1, 1, "ends")) return {};
  std::optional<int64_t> count = c.extent(starts, 0);
  if (!count && !c.has(3)) return c.unsized("a slice whose number of axes is known only at run time");
  std::optional<Ints> known = c.has(3) && c.known(3) ? c.ints(3, "axes") : std::nullopt;
  if (known) known = c.axes(*known, c.rank(x));
  const Expr axes = list_input(c, 3);
  const ByAxis by{c, known ? axes : checked_axes(c, axes, c.rank(x)), c.rank(x)};
  const Expr zero = c.integer_scalar(0), one = c.integer_scalar(1);
  if (steps)
    steps = refused_where(c, steps, c.emit("equal", {steps, zero}), "a value in steps is 0", "give non-zero steps");
  for (int64_t axis = 0; axis < c.rank(x) && !c.failed(); ++axis) {
    if (known && std::find(known->begin(), known->end(), axis) == known->end()) continue;
    if (!by.axes && axis >= *count) break;
    Expr size = c.size_of(x, axis), last = c.add(size, -1), step = steps ? by.value(steps, axis, one) : one;
    Expr up = c.emit("greater", {step, zero});
    // Negative bounds count from the end, then all are clamped to the axis; a backward slice may end before the first
    // element.
    auto bound = [&](const Expr& list, const Expr& otherwise, const Expr& least) {
      Expr at = by.value(list, axis, otherwise);
      Expr front = c.emit("where", {c.emit("less", {at, zero}), c.add(at, size), at});
      return c.emit("where", {up, between(c, front, zero, size), between(c, front, least, last)});
    };
    Expr begin = bound(starts, zero, zero), end = bound(ends, size, c.integer_scalar(-1));
    x = picked(c, x, c.emit("arange", {begin, end, step}), axis);
  }
  return {x};
}

Values computed_unsqueeze(Convert& c, const Expr& x, const Expr& axes) {
  std::optional<int64_t> count = c.extent(axes, 0);
  if (!c.expect_rank(axes, 1, 1, "axes")) return {};
  if (!count) return c.unsized("new axes whose number is known only at run time");
  const int64_t rank = c.rank(x) + *count;
  if (c.rank(x) == 0) return {c.reshape(x, ir::Dims(static_cast<size_t>(rank), scalar::imm(1)))};
  Expr places = numbers_to(c, c.integer_scalar(rank)), zero = c.integer_scalar(0), one = c.integer_scalar(1);
  Expr front = c.emit("where", {c.emit("less", {axes, zero}), c.add(axes, static_cast<double>(rank)), axes});
  Expr is_new = c.reduce("any", c.emit("equal", {c.expand(places, 1), c.expand(front, 0)}), {1}, false);
  Expr kept = c.emit("cumsum", {c.emit("where", {is_new, zero, one})}, {{"axis", int64_t{0}}});
  Expr sizes = c.emit("shape_of", {x}, {{"dtype", DType::int64()}});
  Expr old = picked(c, sizes, c.emit("maximum", {c.add(kept, -1), zero}), 0);
  Expr shape = c.reshape(c.emit("where", {is_new, one, old}), {scalar::imm(rank)});
  return {c.emit("dyn.reshape", {x, shape})};
}

Values computed_split(Convert& c, const Expr& x, const Expr& given, int64_t axis) {
  if (!c.expect_rank(given, 1, 1, "split")) return {};
  const Expr sizes = checked_parts(c, given, c.size_of(x, axis));
  const int64_t parts = static_cast<int64_t>(c.node.outputs.size());
  if (c.extent(given, 0).value_or(parts) != parts)
    return c.bad("split is {}, but there are {} outputs", ir::str(given->type), parts);
  Expr begin = c.integer_scalar(0);
  Values results;
  for (int64_t i = 0; i < parts; ++i) {
    Expr end = c.add(begin, element(c, sizes, i));
    results.push_back(Value(picked(c, x, c.emit("arange", {begin, end, c.integer_scalar(1)}), axis)));
    begin = end;
  }
  return results;
}

// The amount in front of an axis, after checking that both amounts leave enough to pad with. Elements are cut first.
static Expr checked_pad(Convert& c, const Expr& size, const Expr& front, const Expr& back, const std::string& mode) {
  const Expr zero = c.integer_scalar(0);
  Expr wrong = c.emit("less", {c.add(size, c.add(front, back)), zero});
  if (mode != "constant") {
    auto cut = [&](const Expr& amount) { return c.emit("minimum", {amount, zero}); };
    const Expr left = c.emit("maximum", {c.add(size, c.add(cut(front), cut(back))), zero});
    // A single element cannot be reflected; edges and repetitions need one.
    const Expr most = mode == "reflect" ? c.emit("maximum", {c.add(left, -1), zero})
                                        : c.multiply(left, c.integer_scalar(int64_t{INT32_MAX}));
    wrong = c.emit("logical_or", {wrong, c.emit("greater", {c.emit("maximum", {front, back}), most})});
  }
  return refused_where(c, front, wrong, "pads cut off more than an axis has, or need more elements than it has",
                       "give larger data, or smaller pads; a reflection can add one element less than the axis has");
}

Values computed_pad(Convert& c, const Expr& data, const Expr& pads, const Expr& axes, const Expr& value,
                    const std::string& mode) {
  Expr x = data;
  const int64_t rank = c.rank(x);
  std::optional<int64_t> count = c.fixed_extent(pads, 0, "pads");
  if (!count) return {};
  if (*count % 2 != 0) return c.unsupported("pads is {}, but two values per axis are needed", ir::str(pads->type));
  if (!axes && *count != 2 * rank) return c.bad("pads is {} for {}", ir::str(pads->type), ir::str(x->type));
  Expr before = c.slice(pads, 0, 0, *count / 2), after = c.slice(pads, 0, *count / 2, *count);
  const ByAxis by{c, checked_axes(c, axes, rank), rank};
  const Expr zero = c.integer_scalar(0), one = c.integer_scalar(1);
  for (int64_t axis = 0; axis < rank; ++axis) {
    Expr size = c.size_of(x, axis), front = by.value(before, axis, zero), back = by.value(after, axis, zero);
    front = checked_pad(c, size, front, back, mode);
    Expr places = c.subtract(numbers_to(c, c.add(c.add(size, front), back)), front);
    if (mode == "constant") {
      x = filled(c, x, places, axis, value);
      continue;
    }
    if (mode == "wrap") {  // repeats what is left
      auto cut = [&](const Expr& amount) { return c.emit("minimum", {amount, zero}); };
      const Expr left = c.add(size, c.add(cut(front), cut(back)));
      places = c.subtract(c.emit("floor_mod", {c.add(places, cut(front)), left}), cut(front));
    }
    if (mode == "reflect") {
      Expr period = c.emit("maximum", {c.multiply(c.add(size, -1), c.integer_scalar(2)), one});
      places = c.emit("floor_mod", {places, period});
      places = c.emit("minimum", {places, c.subtract(period, places)});
    }
    x = picked(c, x, places, axis);
  }
  return {x};
}

Values computed_crop(Convert& c, const Expr& data, const Expr& shape, const Ints& axes) {
  Expr x = data;
  const Expr two = c.integer_scalar(2);
  for (size_t i = 0; i < axes.size(); ++i) {
    Expr to = element(c, shape, static_cast<int64_t>(i)), size = c.size_of(x, axes[i]);
    Expr cut = c.emit("floor_divide", {c.subtract(size, to), two});
    Expr added = c.emit("floor_divide", {c.subtract(to, size), two});
    Expr first = c.emit("where", {c.emit("less", {to, size}), cut, c.emit("negative", {added})});
    x = filled(c, x, c.add(numbers_to(c, to), first), axes[i], c.scalar(0, c.dtype(x)));
  }
  return {x};
}

Expr affine_map(Convert& c, const Expr& theta, int64_t axes) {
  if (c.extent(theta, 1).value_or(axes) != axes || c.extent(theta, 2).value_or(axes + 1) != axes + 1)
    return c.bad("theta is {}, not (N, {}, {})", ir::str(theta->type), axes, axes + 1);
  return c.with_extent(c.with_extent(theta, 1, axes), 2, axes + 1);
}

Values computed_affine_grid(Convert& c, const Expr& given, const Expr& size) {
  const std::optional<int64_t> count = c.extent(size, 0);
  if (!count || (*count != 4 && *count != 5)) return c.unsupported("size is {}", ir::str(size->type));
  const int64_t axes = *count - 2;
  const Expr theta = affine_map(c, given, axes);
  if (!theta) return {};
  const DType dtype = c.dtype(theta);
  // Column k of theta as (N, 1, .., axes).
  auto column = [&](int64_t k) {
    Expr e = c.squeeze(c.slice(theta, 2, k, k + 1), 2);
    for (int64_t i = 0; i < axes; ++i) e = c.expand(e, 1);
    return e;
  };
  Expr grid = column(axes);
  for (int64_t k = 0; k < axes; ++k) {
    Expr n = element(c, size, *count - 1 - k), extent = c.cast(n, dtype), at = c.cast(numbers_to(c, n), dtype);
    Expr place = c.add(c.divide(c.add(c.multiply(at, 2.0), 1), extent), -1);
    if (c.integer("align_corners", 0)) {
      Expr last = c.emit("maximum", {c.add(extent, -1), c.scalar(1, dtype)});
      place = c.add(c.divide(c.multiply(at, 2.0), last), -1);
    }
    grid = c.add(grid, c.multiply(column(k), along_axis_of(c, place, axes - k, axes + 2)));
  }
  return {grid};
}

Expr along_computed(Convert& c, const Expr& axis, int64_t rank, function_ref<Expr(int64_t axis)> along) {
  Expr at = c.cast(c.rank(axis) > 0 ? c.reshape(axis, {}) : axis, DType::int64());
  at = c.emit("floor_mod", {checked_places(c, at, rank, "axis"), c.integer_scalar(rank)});
  Expr result = along(0);
  for (int64_t i = 1; i < rank; ++i) {
    Expr other = along(i);
    if (!result || !other) return nullptr;
    ir::Type both = common_type(result->type, other->type);
    if (!both) return c.unsized("an axis that is computed at run time");
    result = c.choose_as(both, c.emit("equal", {at, c.integer_scalar(i)}), other, result);
  }
  return result;
}

}  // namespace relay::onnx
