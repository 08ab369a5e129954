// Operators that select elements by index, or put them somewhere: slices, gathers, sorting.
#include <algorithm>

#include "relay/frontend/tflite/shape.h"
#include "relay/scalar/simplify.h"

namespace relay::tflite::convert {

using ir::Dims;
using ir::Expr;
using ir::Ints;

// --- slices ----------------------------------------------------------------------------------------------------------

namespace {

// Bounds of a slice of one axis; `shrink` takes one element and drops the axis.
struct AxisSlice {
  int64_t begin = 0, end = INT32_MAX, step = 1;
  bool open_begin = false, open_end = false, shrink = false, is_new = false;
};

// Places of a slice in an axis of this extent, as numpy counts them.
std::pair<int64_t, int64_t> places(const AxisSlice& s, int64_t extent) {
  const int64_t low = s.step > 0 ? 0 : -1, high = s.step > 0 ? extent : extent - 1;
  auto place = [&](int64_t bound) { return std::clamp(bound < 0 ? bound + extent : bound, low, high); };
  return {s.open_begin ? (s.step > 0 ? low : high) : place(s.begin),
          s.open_end ? (s.step > 0 ? high : low) : place(s.end)};
}

// Slices of all axes applied to known elements.
KnownRef sliced_known(KnownRef known, const std::vector<AxisSlice>& slices) {
  for (size_t i = 0; i < slices.size() && known; ++i) {
    if (slices[i].is_new) return nullptr;
    auto [begin, end] = places(slices[i], known->shape[i]);
    end = slices[i].step > 0 ? std::max(begin, end) : std::min(begin, end);
    known = sliced(*known, i, begin, end, slices[i].step);
  }
  relay::Shape shape;
  for (size_t i = 0; known && i < known->shape.size(); ++i)
    if (i >= slices.size() || !slices[i].shrink) shape.push_back(known->shape[i]);
  return known ? reshaped(*known, shape) : nullptr;
}

Values applied(Convert& c, const std::vector<AxisSlice>& slices) {
  if (KnownRef known = c.known(0))
    if (KnownRef result = sliced_known(known, slices)) return {result};
  Expr x = c.input(0);
  Ints begin, end, step, axes, dropped;
  int64_t axis = 0, place = 0;  // of the data, of the result
  for (const AxisSlice& s : slices) {
    if (s.is_new) {
      ++place;
      continue;
    }
    const std::optional<int64_t> extent = c.extent(x, axis);
    if (!extent) {
      const bool whole = s.step == 1 && (s.open_begin || s.begin == 0) && s.open_end;
      const bool forward = s.step > 0 && !s.shrink;
      if (!whole && !forward && !(s.shrink && s.begin >= 0))
        return c.unsupported("a slice of axis {} of {} needs a fixed size; give the inputs' shapes (--shape)", axis,
                             ir::str(x->type));
      if (!whole) {
        begin.push_back(s.open_begin ? 0 : s.begin), step.push_back(s.step), axes.push_back(axis);
        end.push_back(s.shrink ? s.begin + 1 : s.open_end ? INT32_MAX : s.end);
      }
    } else if (auto [first, last] = places(s, *extent); s.shrink || first != 0 || last != *extent || s.step != 1) {
      if (s.shrink && (s.begin < -*extent || s.begin >= *extent))
        return c.bad("element {} of axis {}, which has {}", s.begin, axis, *extent);
      // "Before the first element" is written so that it does not mean the last one.
      last = s.step > 0 ? std::max(first, last) : std::min(first, last);
      begin.push_back(first), end.push_back(last < 0 ? -*extent - 1 : last), step.push_back(s.step);
      axes.push_back(axis);
    }
    if (s.shrink) dropped.push_back(place);
    ++axis, ++place;
  }
  if (!axes.empty())
    x = c.emit("strided_slice", {x}, {{"begin", begin}, {"end", end}, {"strides", step}, {"axes", axes}});
  for (size_t i = 0; i < slices.size(); ++i)
    if (slices[i].is_new) x = c.expand(x, static_cast<int64_t>(i));
  return {dropped.empty() ? x : c.emit("squeeze", {x}, {{"axis", dropped}})};
}

}  // namespace

// Inputs: data, begin, end, steps. Bits of the masks, by place in those lists: begin_mask and end_mask leave a bound
// out, the ellipsis stands for all axes that the lists do not name, a new axis has extent 1, shrink takes one element.
Values STRIDED_SLICE(Convert& c) {
  std::optional<Ints> begin = c.places(1, "begin"), end = c.places(2, "end"), steps = c.places(3, "the steps");
  if (!begin || !end || !steps) return {};
  const size_t n = begin->size();
  if (end->size() != n || steps->size() != n || n > 32)
    return c.bad("begin, end and steps have {}, {} and {} elements", n, end->size(), steps->size());
  auto bit = [&](const char* mask, size_t i) { return (c.integer(mask, 0) >> i & 1) != 0; };
  size_t named = 0;
  for (size_t i = 0; i < n; ++i) named += !bit("new_axis_mask", i) && !bit("ellipsis_mask", i);
  const size_t rank = shape_of_input(c, 0).size();
  if (named > rank) return c.bad("{} slices of data of {} axes", named, rank);
  std::vector<AxisSlice> slices;
  for (size_t i = 0; i < n; ++i) {
    if (bit("ellipsis_mask", i)) {
      slices.insert(slices.end(), rank - named, {.open_begin = true, .open_end = true});
      continue;
    }
    if (bit("new_axis_mask", i)) {
      slices.push_back({.is_new = true});
      continue;
    }
    AxisSlice s{(*begin)[i],          (*end)[i],          (*steps)[i],
                bit("begin_mask", i), bit("end_mask", i), bit("shrink_axis_mask", i)};
    if (s.step == 0) return c.bad("a step is 0");
    if (c.flag("offset")) s.end += s.begin;
    if (s.shrink) s.step = 1, s.open_begin = s.open_end = false, s.end = s.begin == -1 ? INT32_MAX : s.begin + 1;
    slices.push_back(s);
  }
  return applied(c, slices);
}

// Inputs: data, begin, sizes, of which -1 is all that is left.
Values SLICE(Convert& c) {
  std::optional<Ints> begin = c.places(1, "begin"), sizes = c.places(2, "the sizes");
  if (!begin || !sizes) return {};
  const size_t rank = shape_of_input(c, 0).size();
  if (begin->size() != rank || sizes->size() != rank)
    return c.bad("begin [{}] and sizes [{}] are not of {} axes", join(*begin, ", "), join(*sizes, ", "), rank);
  std::vector<AxisSlice> slices;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t first = (*begin)[i], size = (*sizes)[i];
    if (first < 0 || size < -1) return c.bad("begin [{}] or sizes [{}]", join(*begin, ", "), join(*sizes, ", "));
    slices.push_back({.begin = first, .end = first + size, .open_begin = first == 0, .open_end = size == -1});
  }
  return applied(c, slices);
}

Values REVERSE_V2(Convert& c) {
  std::optional<Ints> given = c.places(1, "the axes");
  Expr x = c.input(0);
  std::optional<Ints> axes = given ? c.axes(*given, c.rank(x)) : std::nullopt;
  if (!axes) return {};
  for (int64_t axis : *axes) x = c.emit("reverse", {x}, {{"axis", axis}});
  return {x};
}

Values REVERSE_SEQUENCE(Convert& c) {
  return {c.emit("reverse_sequence", {c.input(0), c.input(1)},
                 {{"seq_axis", c.integer("seq_dim", 0)}, {"batch_axis", c.integer("batch_dim", 0)}})};
}

// --- gathers ---------------------------------------------------------------------------------------------------------

Values GATHER(Convert& c) {
  const Dims shape = shape_of_input(c, 0);
  std::optional<int64_t> axis = c.axis(c.integer("axis", 0), std::ssize(shape));
  if (!axis) return {};
  KnownRef data = c.known(0), places = c.known(1);
  if (data && places && shape.size() == 1 && c.is_static(1)) {
    std::optional<Ints> indices = as_ints(*places);
    for (int64_t i : indices.value_or(Ints()))
      if (i < 0 || i >= data->shape[0]) return c.bad("index {} of {} elements", i, data->shape[0]);
    if (indices) return {picked(*data, *indices, places->shape)};
  }
  return {c.emit("take", {c.input(0), c.input(1)},
                 {{"axis", *axis}, {"batch_dims", c.integer("batch_dims", 0)}, {"mode", "checked"}})};
}

Values EMBEDDING_LOOKUP(Convert& c) {
  return {c.emit("take", {c.input(1), c.input(0)}, {{"axis", int64_t{0}}, {"mode", "checked"}})};
}

// Index tuples are in the last axis of indices here, in the first in Relay.
static Expr tuples_first(Convert& c, const Expr& indices) {
  Ints order{c.rank(indices) - 1};
  for (int64_t i = 0; i + 1 < c.rank(indices); ++i) order.push_back(i);
  return c.transpose(indices, order);
}

Values GATHER_ND(Convert& c) {
  Expr indices = c.input(1);
  if (!c.expect_rank(indices, 1, 32, "the indices")) return {};
  return {c.emit("gather_nd", {c.input(0), tuples_first(c, indices)})};
}

// Inputs: indices, values, the shape of the result. Values with equal indices are added.
Values SCATTER_ND(Convert& c) {
  std::optional<Dims> shape = c.dims(2, "the shape");
  Expr indices = c.input(0), updates = c.input(1);
  if (!shape || !c.expect_rank(indices, 1, 32, "the indices")) return {};
  Expr zeros = c.broadcast_to(c.scalar(0, c.dtype(updates)), *shape);
  return {c.emit("scatter_nd", {zeros, tuples_first(c, indices), updates}, {{"mode", "add"}})};
}

// Inputs: the data, values that replace a part of it, where that begins. A part that would not fit begins earlier.
Values DYNAMIC_UPDATE_SLICE(Convert& c) {
  Expr x = c.input(0), update = c.input(1), begin = c.cast(c.input(2), DType::int64());
  const int64_t rank = c.rank(x);
  if (!c.expect_rank(update, rank, rank, "the update") || !c.expect_rank(begin, 1, 1, "begin")) return {};
  Expr value = update, inside;
  for (int64_t axis = 0; axis < rank; ++axis) {
    const std::optional<int64_t> extent = c.extent(x, axis), size = c.extent(update, axis);
    if (!extent || !size) return c.unsupported("data and update need fixed sizes (--shape)");
    if (*size > *extent) return c.bad("an update of {} elements for {} along axis {}", *size, *extent, axis);
    if (*size == *extent) continue;
    Expr first = c.emit("take", {begin, c.integer_scalar(axis)}, {{"axis", int64_t{0}}});
    first = c.emit("minimum", {c.emit("maximum", {first, c.integer_scalar(0)}), c.integer_scalar(*extent - *size)});
    const Expr places = c.subtract(c.count_up(x, axis), first);
    Expr within = c.emit("logical_and", {c.emit("less_equal", {c.integer_scalar(0), places}),
                                         c.emit("less", {places, c.integer_scalar(*size)})});
    for (int64_t i = axis + 1; i < rank; ++i) within = c.expand(within, c.rank(within));
    value = c.emit("take", {value, places}, {{"axis", axis}, {"mode", "clip"}});
    inside = inside ? c.emit("logical_and", {inside, within}) : within;
  }
  return {inside ? c.emit("where", {inside, value, x}) : value};
}

Values ONE_HOT(Convert& c) {
  std::optional<Ints> depth = c.places(1, "the depth");
  if (!depth) return {};
  if (depth->size() != 1 || (*depth)[0] < 0) return c.bad("the depth is [{}]", join(*depth, ", "));
  return {c.emit("one_hot", {c.input(0), c.input(2), c.input(3)},
                 {{"depth", (*depth)[0]}, {"axis", c.integer("axis", -1)}, {"dtype", c.dtype(c.input(2))}})};
}

Values WHERE(Convert& c) {
  Expr places = c.emit("argwhere", {c.input(0)});
  return {c.cast(places, DType::int64())};
}

// --- sorting ---------------------------------------------------------------------------------------------------------

Values TOPK_V2(Convert& c) {
  std::optional<Ints> k = c.places(1, "k");
  if (!k) return {};
  if (k->size() != 1 || (*k)[0] < 1) return c.bad("k is [{}]", join(*k, ", "));
  Expr both = c.emit("topk", {c.input(0)}, {{"k", (*k)[0]}, {"axis", int64_t{-1}}, {"dtype", DType::int32()}});
  return {c.get(both, 0), c.get(both, 1)};
}

static Values best_place(Convert& c, const char* op) {
  std::optional<Ints> given = c.places(1, "the axis");
  Expr x = c.input(0);
  if (!given) return {};
  std::optional<Ints> axes = given->size() == 1 ? c.axes(*given, c.rank(x)) : std::nullopt;
  if (!axes) return c.bad("the axis is [{}]", join(*given, ", "));
  const std::optional<DType> dtype = type_dtype(c.output_entry(0).type);
  if (!dtype) return c.unsupported("places of type {}", type_name(c.output_entry(0).type));
  return {c.cast(c.emit(op, {x}, {{"axis", *axes}}), *dtype)};
}
Values ARG_MAX(Convert& c) { return best_place(c, "argmax"); }
Values ARG_MIN(Convert& c) { return best_place(c, "argmin"); }

// --- matrices --------------------------------------------------------------------------------------------------------

// Vectors of the last axis on the diagonals of matrices.
Values MATRIX_DIAG(Convert& c) {
  Expr x = c.input(0);
  if (!c.expect_rank(x, 1, 31, "the data")) return {};
  const Expr count = c.count_up(x, c.rank(x) - 1);
  const Expr is_diagonal = c.emit("equal", {c.expand(count, 1), count});
  return {c.emit("where", {is_diagonal, c.expand(x, c.rank(x)), c.scalar(0, c.dtype(x))})};
}
Values MATRIX_SET_DIAG(Convert& c) { return {c.emit("matrix_set_diag", {c.input(0), c.input(1)})}; }

}  // namespace relay::tflite::convert
