// Slices: parts of the axes of a tensor.
#include <algorithm>
#include <numeric>

#include "relay/frontend/tflite/shape.h"

namespace relay::tflite::convert {

using ir::Expr;
using ir::Ints;

namespace {

// Bounds of a slice of one axis; `shrink` takes one element and drops the axis.
struct AxisSlice {
  int64_t begin = 0, end = INT32_MAX, step = 1;
  bool open_begin = false, open_end = false, shrink = false, is_new = false;
  size_t place = 0;  // in the lists of bounds
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

// Element i of a list of bounds, input `list`.
Expr bound(Convert& c, size_t list, size_t i) {
  if (const KnownRef known = c.known(list); known && is_int(known->values[i]))
    return c.integer_scalar(known->values[i]->ivalue);
  return c.emit("take", {c.cast(c.input(list), DType::int64()), c.integer_scalar(static_cast<int64_t>(i))},
                {{"axis", int64_t{0}}});
}

Expr listed(Convert& c, const ir::Exprs& scalars) {
  return c.emit("stack", {c.tuple(scalars)}, {{"axis", int64_t{0}}});
}

// x without the axis, at a place that counts from the end if it is negative.
Expr at_place(Convert& c, const Expr& x, const Expr& place, int64_t axis) {
  const Expr is_behind = c.emit("less", {place, c.integer_scalar(0)});
  const Expr wrapped = c.emit("where", {is_behind, c.add(place, c.size_of(x, axis)), place});
  return c.emit("take", {x, wrapped}, {{"axis", axis}, {"mode", "checked"}});
}

// True for a list of known length whose elements are computed while the model runs.
bool is_computed(Convert& c, size_t list) { return !c.known(list) && c.extent(c.input(list), 0); }

// Reports a list of another length.
bool has_length(Convert& c, size_t list, size_t length) {
  const KnownRef known = c.known(list);
  const std::optional<int64_t> extent = known ? std::ssize(known->values) : c.extent(c.input(list), 0);
  if (extent == static_cast<int64_t>(length)) return true;
  c.bad("a list of {} elements for {}", extent.value_or(-1), plural(static_cast<int64_t>(length), "axis", "axes"));
  return false;
}

// Slices whose bounds are computed while the model runs. Their steps go forwards.
Values computed_slice(Convert& c, const std::vector<AxisSlice>& slices) {
  Expr x = c.input(0);
  ir::Exprs begin, end, steps;
  bool is_whole = true;
  for (const AxisSlice& s : slices) {
    if (s.is_new) continue;
    if (s.step < 1) return c.unsupported("a step of {} between bounds that are computed while the model runs", s.step);
    const bool has_begin = !s.open_begin && !s.shrink, has_end = !s.open_end && !s.shrink;
    is_whole = is_whole && !has_begin && !has_end && s.step == 1;
    begin.push_back(has_begin ? bound(c, 1, s.place) : c.integer_scalar(0));
    end.push_back(has_end ? bound(c, 2, s.place) : c.integer_scalar(INT32_MAX));
    steps.push_back(c.integer_scalar(s.step));
  }
  if (!is_whole) x = c.emit("dyn.strided_slice", {x, listed(c, begin), listed(c, end), listed(c, steps)});
  int64_t axis = 0;
  for (const AxisSlice& s : slices) {
    if (s.is_new) x = c.expand(x, axis);
    if (s.shrink) x = at_place(c, x, bound(c, 1, s.place), axis);
    axis += s.shrink ? 0 : 1;
  }
  return {x};
}

// The elements from begin, input 1, whose numbers are input 2; one of the two is computed while the model runs.
Values computed_block(Convert& c) {
  Expr x = c.input(0);
  const size_t rank = static_cast<size_t>(c.rank(x));
  if (!has_length(c, 1, rank) || !has_length(c, 2, rank)) return {};
  const KnownRef known = c.known(2);
  const std::optional<Ints> sizes = known ? as_ints(*known) : std::nullopt;
  if (!sizes || std::any_of(sizes->begin(), sizes->end(), [](int64_t size) { return size < 0; })) {
    const Expr steps = listed(c, ir::Exprs(rank, c.integer_scalar(1)));
    auto list = [&](size_t i) { return c.cast(c.input(i), DType::int64()); };
    return {c.emit("dyn.strided_slice", {x, list(1), list(2), steps}, {{"slice_mode", "size"}})};
  }
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t size = (*sizes)[axis];
    if (c.extent(x, static_cast<int64_t>(axis)) == size) continue;  // a whole axis can only begin at 0
    if (!c.may_make(size, DType::int64())) return {};
    Ints numbers(static_cast<size_t>(size));
    std::iota(numbers.begin(), numbers.end(), 0);
    const Expr places = c.add(bound(c, 1, axis), c.constant(Tensor::from_ints({size}, DType::int64(), numbers)));
    x = c.emit("take", {x, places}, {{"axis", static_cast<int64_t>(axis)}, {"mode", "checked"}});
  }
  return {x};
}

}  // namespace

// Inputs: data, begin, end, steps. Bits of the masks, by place in those lists: begin_mask and end_mask leave a bound
// out, the ellipsis stands for all axes that the lists do not name, a new axis has extent 1, shrink takes one element.
Values STRIDED_SLICE(Convert& c) {
  std::optional<Ints> steps = c.places(3, "the steps");
  if (!steps) return {};
  const size_t n = steps->size();
  const bool computed = is_computed(c, 1) || is_computed(c, 2);
  std::optional<Ints> begin = computed ? Ints(n, 0) : c.places(1, "begin"),
                      end = computed ? Ints(n, 0) : c.places(2, "end");
  if (!begin || !end || !has_length(c, 1, n) || !has_length(c, 2, n)) return {};
  if (n > 32) return c.bad("begin, end and steps have {} elements", n);
  if (computed && c.flag("offset")) return c.unsupported("computed ends that count from the begin");
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
    AxisSlice s{
        (*begin)[i], (*end)[i], (*steps)[i], bit("begin_mask", i), bit("end_mask", i), bit("shrink_axis_mask", i),
        false,       i};
    if (s.step == 0) return c.bad("a step is 0");
    if (c.flag("offset")) s.end += s.begin;
    if (s.shrink) s.step = 1, s.open_begin = s.open_end = false, s.end = s.begin == -1 ? INT32_MAX : s.begin + 1;
    slices.push_back(s);
  }
  return computed ? computed_slice(c, slices) : applied(c, slices);
}

// Inputs: data, begin, sizes, of which -1 is all that is left.
Values SLICE(Convert& c) {
  if (is_computed(c, 1) || is_computed(c, 2)) return computed_block(c);
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

}  // namespace relay::tflite::convert
