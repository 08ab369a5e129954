// Operators that select elements by index: slices, gathers, one-hot, ranges, sorting.
#include <algorithm>
#include <cmath>

#include "relay/frontend/onnx/computed.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::convert {

using ir::Dim;
using ir::Dims;
using ir::Expr;
using ir::Ints;

namespace {

// Negative indices count from the end of `depth` classes: constants are corrected now, others at run time.
Expr from_the_front(Convert& c, const Expr& indices, int64_t depth) {
  DType dtype = c.dtype(indices);
  if (dtype.code == DType::Code::UInt) return indices;
  if (const ir::Constant* constant = ir::as<ir::Constant>(indices)) {
    Tensor corrected = Tensor::empty(constant->value.shape(), dtype);
    for (int64_t i = 0; i < corrected.elements(); ++i) {
      int64_t index = constant->value.int_at(i);
      corrected.set_int(i, index < 0 ? index + depth : index);
    }
    return c.constant(std::move(corrected));
  }
  Expr below = c.emit("less", {indices, c.scalar(0, dtype)});
  return c.emit("where", {below, c.add(indices, static_cast<double>(depth)), indices});
}

constexpr int64_t far = int64_t{1} << 50;  // beyond every axis

// An end that stands for that of an axis, however large.
bool is_open_end(int64_t end) { return end == INT32_MAX || end >= far; }

struct Bounds {
  int64_t begin, end, step;
};

// An axis of a slice: bounds from the end made positive and clamped to the axis.
Bounds clamped(int64_t begin, int64_t end, int64_t step, int64_t extent) {
  auto front = [&](int64_t i) { return i < 0 ? (i < -extent ? -1 : i + extent) : std::min(i, extent); };
  Bounds r{front(begin), front(end), step};
  if (step > 0) {
    r.begin = std::max<int64_t>(r.begin, 0), r.end = std::max<int64_t>(r.end, 0);
    r.end = std::max(r.begin, r.end);
  } else {
    r.begin = std::min(std::max<int64_t>(r.begin, 0), extent - 1);
    r.end = std::min(r.end, r.begin);
  }
  return r;
}

// A slice of known elements; null if the elements or the bounds are not known.
KnownRef slice_known(KnownRef known, const Dims& starts, const Dims& ends, const Ints& axes, const Ints& steps) {
  for (size_t i = 0; known && i < starts.size(); ++i) {
    if (!is_int(starts[i]) || !is_int(ends[i]) || steps[i] == 0) return nullptr;
    const size_t axis = static_cast<size_t>(axes[i]);
    const Bounds r = clamped(starts[i]->ivalue, ends[i]->ivalue, steps[i], known->shape[axis]);
    known = sliced(*known, axis, r.begin, r.end, r.step);
  }
  return known;
}

}  // namespace

// A bound of a forward slice as a place in 0 .. extent: negative bounds count from the end.
static Dim place_of(const Dim& bound, const Dim& extent) {
  const Dim zero = scalar::imm(0), one = scalar::imm(1);
  Dim front = bound;
  if (scalar::prove(scalar::le(zero, bound)) != true) {
    const Dim below = scalar::max(scalar::min(zero - bound, one), zero);  // 1 if it is negative
    front = scalar::max(bound + below * extent, zero);
  }
  return scalar::simplify(scalar::min(front, extent));
}

// A forward slice whose bounds are not both numbers, or of an axis of any size: its size is the number of elements.
static Expr slice_to_size(Convert& c, const Expr& x, int64_t axis, const Dim& first, const Dim& last, int64_t step) {
  const Dim& extent = c.shape(x)[static_cast<size_t>(axis)];
  const Dim begin = place_of(first, extent), end = place_of(last, extent);
  Dim size = scalar::max(end - begin, scalar::imm(0));
  size = scalar::simplify(floordiv(size + (step - 1), step));
  return slice_of_size(c, x, axis, begin, size, step);
}

// A backward slice between two numbers, of an axis of unknown size.
static Expr slice_backward(Convert& c, const Expr& x, int64_t axis, int64_t first, int64_t last, int64_t step) {
  const Dim extent = c.shape(x)[static_cast<size_t>(axis)], top = scalar::simplify(extent - 1);
  Dim begin = top;  // and negative if there are no elements
  if (first < -1) begin = scalar::min(scalar::max(scalar::simplify(extent + first), scalar::imm(0)), top);
  if (first >= 0 && !is_open_end(first)) begin = scalar::min(scalar::imm(first), top);
  Dim size = begin + 1;
  if (last >= 0) size = scalar::max(begin - scalar::imm(std::min(last, far)), scalar::imm(0));
  if (last < 0 && last > -far)
    size = scalar::max(begin - scalar::max(scalar::simplify(extent + last), scalar::imm(-1)), scalar::imm(0));
  const int64_t each = -std::max(step, -far);
  size = scalar::simplify(floordiv(size + (each - 1), scalar::imm(each)));
  return slice_of_size(c, x, axis, scalar::simplify(begin), size, -each);
}

// Bounds are attributes before opset 10 and inputs since then.
Values Slice(Convert& c) {
  std::optional<Dims> starts, ends;
  std::optional<Ints> axes, steps;
  if (c.opset < 10) {
    starts = Dims(), ends = Dims();
    for (int64_t i : c.ints("starts")) starts->push_back(scalar::imm(i));
    for (int64_t i : c.ints("ends")) ends->push_back(scalar::imm(i));
    axes = c.optional_ints("axes");
  } else {
    if (!c.has(1) || !c.has(2)) return c.bad("starts and ends are missing");
    for (size_t i = 1; i < 5; ++i)
      if (c.has(i) && !c.known(i)) return computed_slice(c);
    starts = c.dims(1, "starts"), ends = c.dims(2, "ends");
    if (c.has(3)) axes = c.ints(3, "axes");
    if (c.has(4)) steps = c.ints(4, "steps");
  }
  if (c.failed() || !starts || !ends) return {};
  KnownRef known = c.known(0);
  Expr x = known ? nullptr : c.input(0);
  int64_t rank = known ? static_cast<int64_t>(known->shape.size()) : c.rank(x);
  size_t n = starts->size();
  if (!axes) {
    axes = Ints();
    for (size_t i = 0; i < n; ++i) axes->push_back(static_cast<int64_t>(i));
  }
  if (!steps) steps = Ints(n, 1);
  axes = c.axes(*axes, rank);
  if (!axes) return {};
  if (ends->size() != n || axes->size() != n || steps->size() != n)
    return c.bad("starts, ends, axes and steps have {}, {}, {} and {} elements", n, ends->size(), axes->size(),
                 steps->size());
  known = slice_known(known, *starts, *ends, *axes, *steps);
  if (known) return {known};
  if (!x) x = c.input(0);
  Ints begin, end, strides, used;
  for (size_t i = 0; i < n; ++i) {
    const Dim& extent = c.shape(x)[(*axes)[i]];
    int64_t step = (*steps)[i];
    if (step == 0) return c.bad("a step is 0");
    Dim first = (*starts)[i], last = (*ends)[i];
    // To the end of the axis, in any of its forms.
    bool open = is_int(last) ? is_open_end(last->ivalue) : scalar::prove(scalar::le(extent, last)) == true;
    const bool is_number = is_int(first) && (is_int(last) || open);
    const bool backward = step < 0 && is_int(first) && is_int(last) && !is_int(extent);
    if (!is_any(extent) && (backward || (step > 0 && !is_number))) {
      x = backward ? slice_backward(c, x, (*axes)[i], first->ivalue, last->ivalue, step)
                   : slice_to_size(c, x, (*axes)[i], first, open ? extent : last, step);
      if (!x) return {};
      continue;
    }
    if (!is_int(extent)) {
      if (step > 0 && open && is_int(first, 0)) {
        if (step == 1) continue;
        last = scalar::imm(INT32_MAX);
      }
      if (c.opset >= 10 && (step < 0 || !is_number)) return computed_slice(c);
      if (step < 0) return c.unsized("a backward slice of an axis of size {} needs a fixed size", scalar::str(extent));
      if (open) last = scalar::imm(INT32_MAX);
      if (!is_int(first) || !is_int(last))
        return c.unsized("a slice from {} to {} of an axis of size {} needs numbers", scalar::str(first),
                         scalar::str(last), scalar::str(extent));
      begin.push_back(first->ivalue), end.push_back(last->ivalue), strides.push_back(step);
    } else {
      if (!is_int(first) || !is_int(last)) return computed_slice(c);  // backward
      Bounds r = clamped(first->ivalue, last->ivalue, step, extent->ivalue);
      if (step == 1 && r.begin == 0 && r.end == extent->ivalue) continue;
      // "Before the first element" is written so that it does not mean the last one, and a place so that it does not
      // mean the end.
      if (step < 0 && r.end < 0)
        r.end = -extent->ivalue - 1;
      else if (r.end == INT32_MAX && r.end < extent->ivalue)
        r.end -= extent->ivalue;
      begin.push_back(r.begin), end.push_back(r.end), strides.push_back(step);
    }
    used.push_back((*axes)[i]);
  }
  if (used.empty()) return {x};
  return {c.emit("strided_slice", {x}, {{"begin", begin}, {"end", end}, {"strides", strides}, {"axes", used}})};
}

Values Gather(Convert& c) {
  KnownRef data = c.known(0), places = c.known(1);
  if (data && places && !data->shape.empty() && c.integer("axis", 0) == 0) {
    // Rows of known elements.
    std::optional<Ints> rows = as_ints(*places);
    int64_t extent = data->shape[0], row = extent ? static_cast<int64_t>(data->values.size()) / extent : 0;
    if (rows && static_cast<int64_t>(rows->size()) * row <= max_known) {
      Ints indices;
      for (int64_t r : *rows) {
        if (r < -extent || r >= extent) return c.bad("index {} is out of range for {} elements", r, extent);
        for (int64_t i = 0; i < row; ++i) indices.push_back((r < 0 ? r + extent : r) * row + i);
      }
      relay::Shape shape = places->shape;
      shape.insert(shape.end(), data->shape.begin() + 1, data->shape.end());
      if (KnownRef result = picked(*data, indices, shape)) return {result};
    }
  }
  Expr x = c.input(0);
  std::optional<int64_t> axis = c.axis(c.integer("axis", 0), c.rank(x));
  if (!axis) return {};
  return {c.emit("take", {x, c.input(1)}, {{"axis", *axis}, {"mode", "checked"}})};
}

Values GatherElements(Convert& c) {
  Expr x = c.input(0);
  std::optional<int64_t> axis = c.axis(c.integer("axis", 0), c.rank(x));
  if (!axis) return {};
  return {c.emit("gather", {x, c.input(1)}, {{"axis", *axis}})};
}

// ONNX keeps an index tuple in the last axis of the indices, Relay in the first.
Values GatherND(Convert& c) {
  Expr x = c.input(0), indices = c.input(1);
  int64_t rank = c.rank(indices);
  if (!c.expect_rank(indices, 1, 32, "indices")) return {};
  std::optional<int64_t> width = c.extent(indices, rank - 1);
  if (!width && c.rank(x) - c.integer("batch_dims", 0) == 1) width = 1;  // which is checked on entry to the program
  if (!width) return c.unsized("the last axis of the indices has no fixed size: {}", ir::str(indices->type));
  Ints order{rank - 1};
  for (int64_t i = 0; i < rank - 1; ++i) order.push_back(i);
  return {c.emit("gather_nd", {x, c.transpose(indices, order)},
                 {{"batch_dims", c.integer("batch_dims", 0)}, {"index_rank", *width}})};
}

Values OneHot(Convert& c) {
  const KnownRef values = c.known(2);
  Expr indices = c.input(0);
  if (c.dtype(indices).is_float()) indices = c.cast(indices, DType::int64());
  const int64_t axis = c.integer("axis", -1), rank = c.rank(indices) + 1;
  if (!c.axis(axis, rank)) return {};
  const bool fixed = values && values->values.size() == 2 && as_tensor(*values);
  const DType dtype = fixed ? values->dtype : c.dtype(c.input(2));
  auto value = [&](int64_t i) {
    return fixed ? c.constant(*as_tensor(*picked(*values, {i}, {}))) : element(c, c.input(2), i);
  };
  if (!c.is_static(1)) {
    Expr depth = c.cast(c.rank(c.input(1)) > 0 ? c.reshape(c.input(1), {}) : c.input(1), DType::int64());
    indices = c.cast(indices, DType::int64());
    Expr below = c.emit("less", {indices, c.integer_scalar(0)});
    indices = c.emit("where", {below, c.add(indices, depth), indices});
    return {c.emit("dyn.one_hot", {indices, value(1), value(0), depth}, {{"axis", axis}, {"dtype", dtype}})};
  }
  std::optional<double> depth = c.number(1, "depth");
  if (!depth) return {};
  if (!(*depth >= 0 && *depth <= INT32_MAX)) return c.bad("depth is {}", *depth);
  indices = from_the_front(c, indices, static_cast<int64_t>(*depth));
  return {c.emit("one_hot", {indices, value(1), value(0)},
                 {{"depth", static_cast<int64_t>(*depth)}, {"axis", axis}, {"dtype", dtype}})};
}

// Range of whole numbers whose start or limit is an expression over shape variables: multiples of delta, as many as
// fit.
static Expr range_of_sizes(Convert& c) {
  const KnownRef start = c.known(0), limit = c.known(1), delta = c.known(2);
  for (const KnownRef& k : {start, limit, delta})
    if (!k || k->values.size() != 1 || !k->dtype.is_int()) return {};
  const scalar::Expr &from = start->values[0], &to = limit->values[0], &step = delta->values[0];
  if ((scalar::is_int(from) && scalar::is_int(to)) || !scalar::is_int(step) || step->ivalue == 0) return {};
  const int64_t by = std::abs(step->ivalue);
  const scalar::Expr distance = step->ivalue > 0 ? to - from : from - to;
  scalar::Expr count = scalar::simplify(floordiv(distance + (by - 1), by));
  if (count->kind != scalar::Kind::Var) count = scalar::simplify(scalar::max(count, scalar::imm(0)));
  const Expr steps = c.broadcast_to(c.scalar(static_cast<double>(step->ivalue), start->dtype), ir::Dims{count});
  const Expr sums = c.emit("cumsum", {steps}, {{"axis", int64_t{0}}, {"exclusive", true}});
  return scalar::is_int(from, 0) ? sums : c.add(sums, c.input(0));
}

// The number of integers from start in steps of delta before limit.
static uint64_t count_of_range(int64_t start, int64_t limit, int64_t delta) {
  if (delta > 0 ? start >= limit : start <= limit) return 0;
  auto bits = [](int64_t value) { return static_cast<uint64_t>(value); };
  const uint64_t distance = delta > 0 ? bits(limit) - bits(start) : bits(start) - bits(limit);
  return (distance - 1) / (delta > 0 ? bits(delta) : 0 - bits(delta)) + 1;
}

// start, start + delta, ... before limit; the three are numbers at import, or sizes.
Values Range(Convert& c) {
  if (Expr sizes = range_of_sizes(c)) return {sizes};
  if (!c.is_static(0) || !c.is_static(1) || !c.is_static(2)) {
    auto bound = [&](size_t i) { return c.rank(c.input(i)) > 0 ? c.reshape(c.input(i), {}) : c.input(i); };
    return {c.emit("arange", {bound(0), bound(1), bound(2)})};
  }
  std::optional<double> start = c.number(0, "start"), limit = c.number(1, "limit"), delta = c.number(2, "delta");
  if (c.failed() || !start || !limit || !delta) return {};
  if (*delta == 0) return c.bad("delta is 0");
  for (double bound : {*start, *limit, *delta})
    if (!std::isfinite(bound)) return c.bad("from {} to {} by {} is not a finite range", *start, *limit, *delta);
  double count = std::max(0.0, std::ceil((*limit - *start) / *delta));
  DType dtype = c.known(0)->dtype;
  const std::optional<Ints> first = as_ints(*c.known(0)), end = as_ints(*c.known(1)), step = as_ints(*c.known(2));
  if (!dtype.is_float() && !(first && end && step)) return c.bad("start, limit and delta are of different types");
  if (!dtype.is_float()) count = static_cast<double>(count_of_range((*first)[0], (*end)[0], (*step)[0]));
  if (!(count <= 1e15)) return c.bad("the range from {} to {} by {} has too many elements", *start, *limit, *delta);
  if (!c.may_make(static_cast<int64_t>(count), dtype)) return {};
  Tensor values = Tensor::empty({static_cast<int64_t>(count)}, dtype);
  for (int64_t i = 0; i < values.elements(); ++i) {
    if (dtype.is_float())
      values.set(i, *start + static_cast<double>(i) * *delta);
    else
      values.set_int(i, (*first)[0] + i * (*step)[0]);
  }
  return {c.constant(std::move(values))};
}

// Sorts all, then takes the number that is computed at run time.
static Values computed_topk(Convert& c) {
  Expr x = c.input(0), k = c.reshape(c.cast(c.input(1), DType::int64()), {});
  std::optional<int64_t> axis = c.axis(c.integer("axis", -1), c.rank(x));
  if (!axis) return {};
  Expr order =
      c.emit("argsort", {x}, {{"axis", *axis}, {"is_ascend", c.integer("largest", 1) == 0}, {"dtype", DType::int64()}});
  k = refused_where(c, k, not_within(c, k, c.integer_scalar(0), c.size_of(x, *axis)),
                    "k is negative, or more than the number of elements of the axis",
                    "give a k from 0 to the size of the axis");
  Expr first = c.emit("arange", {c.integer_scalar(0), k, c.integer_scalar(1)});
  order = c.emit("take", {order, first}, {{"axis", *axis}, {"mode", "clip"}});
  return {c.emit("gather", {x, order}, {{"axis", *axis}}), order};
}

Values TopK(Convert& c) {
  Expr x = c.input(0);
  if (c.opset >= 10 && c.has(1) && !c.is_static(1)) return computed_topk(c);
  std::optional<Ints> k = c.opset < 10 ? std::optional(Ints{c.integer("k", -1)}) : c.ints(1, "k");
  if (!k) return c.failed() ? Values() : c.bad("k is missing");
  std::optional<int64_t> axis = c.axis(c.integer("axis", -1), c.rank(x));
  if (!axis) return {};
  if (k->size() != 1 || (*k)[0] < 0) return c.bad("k is [{}]", join(*k, ", "));
  if ((*k)[0] == 0) {  // which the operator takes as all
    Expr none = c.slice(x, *axis, 0, 0);
    return {none, c.cast(none, DType::int64())};
  }
  Expr both = c.emit("topk", {x},
                     {{"k", (*k)[0]},
                      {"axis", *axis},
                      {"ret_type", "both"},
                      {"is_ascend", c.integer("largest", 1) == 0},
                      {"dtype", DType::int64()}});
  if (!both) return {};
  return {c.get(both, 0), c.get(both, 1)};
}

// Running sums or products along an axis, from either end.
static Values running(Convert& c, const char* op) {
  Expr x = c.input(0);
  const bool reverse = c.integer("reverse", 0) != 0, exclusive = c.integer("exclusive", 0) != 0;
  auto along = [&](int64_t axis) {
    auto reversed = [&](const Expr& e) { return reverse ? c.emit("reverse", {e}, {{"axis", axis}}) : e; };
    return reversed(c.emit(op, {reversed(x)}, {{"axis", axis}, {"exclusive", exclusive}}));
  };
  if (!c.known(1) && c.rank(x) > 0) return {along_computed(c, c.input(1), c.rank(x), along)};
  std::optional<Ints> at = c.ints(1, "axis");
  if (!at) return {};
  std::optional<int64_t> axis = at->size() == 1 ? c.axis((*at)[0], c.rank(x)) : c.bad("axis is [{}]", join(*at, ", "));
  if (!axis) return {};
  return {along(*axis)};
}
Values CumSum(Convert& c) { return running(c, "cumsum"); }
Values CumProd(Convert& c) { return running(c, "cumprod"); }

// The kept elements are known at import: a mask of bools, one for all matrices.
Values Trilu(Convert& c) {
  Expr x = c.input(0);
  if (!c.expect_rank(x, 2, 32, "the data")) return {};
  if (c.has(1) && !c.is_static(1)) {
    Expr k = c.rank(c.input(1)) > 0 ? c.reshape(c.input(1), {}) : c.input(1);
    return {c.emit("trilu", {x, k}, {{"upper", c.integer("upper", 1) != 0}})};
  }
  std::optional<Ints> k = c.has(1) ? c.ints(1, "k") : std::optional(Ints{0});
  std::optional<int64_t> rows = c.extent(x, c.rank(x) - 2), columns = c.extent(x, c.rank(x) - 1);
  if (!k) return {};
  if (k->size() != 1) return c.bad("k is [{}]", join(*k, ", "));
  if (!rows || !columns)
    return {c.emit("trilu", {x, c.integer_scalar((*k)[0])}, {{"upper", c.integer("upper", 1) != 0}})};
  if (!c.may_make(element_count({*rows, *columns}).value_or(INT64_MAX), DType::boolean())) return {};
  bool upper = c.integer("upper", 1) != 0;
  int64_t diagonal = std::clamp<int64_t>((*k)[0], -INT32_MAX, INT32_MAX);
  Tensor mask = Tensor::empty({*rows, *columns}, DType::boolean());
  for (int64_t i = 0; i < *rows; ++i)
    for (int64_t j = 0; j < *columns; ++j)
      mask.set_int(i * *columns + j, upper ? j - i >= diagonal : j - i <= diagonal);
  return {c.emit("where", {c.constant(std::move(mask)), x, c.scalar(0, c.dtype(x))})};
}

// A matrix of ones on a diagonal, in the shape of the input.
Values EyeLike(Convert& c) {
  Expr x = c.input(0);
  if (!c.expect_rank(x, 2, 2, "the data")) return {};
  std::optional<int64_t> rows = c.extent(x, 0), columns = c.extent(x, 1);
  std::optional<DType> dtype =
      c.has_attribute("dtype") ? element_dtype(static_cast<int32_t>(c.integer("dtype", 0))) : c.dtype(x);
  if (!dtype)
    return c.unsupported("it creates elements of type {}", element_name(static_cast<int32_t>(c.integer("dtype", 0))));
  if (!rows || !columns) return c.unsized("it needs a fixed size, but the data is {}", ir::str(x->type));
  if (!c.may_make(element_count({*rows, *columns}).value_or(INT64_MAX), *dtype)) return {};
  Tensor eye = Tensor::full({*rows, *columns}, *dtype, 0);
  int64_t k = std::clamp<int64_t>(c.integer("k", 0), -INT32_MAX, INT32_MAX);
  for (int64_t i = 0; i < *rows; ++i)
    if (i + k >= 0 && i + k < *columns) eye.set(i * *columns + i + k, 1);
  return {c.constant(std::move(eye))};
}

}  // namespace relay::onnx::convert
