// Operators that select elements by index, or put them somewhere: gathers, sorting.
#include <algorithm>

#include "relay/frontend/tflite/shape.h"
#include "relay/scalar/simplify.h"

namespace relay::tflite::convert {

using ir::Dims;
using ir::Expr;
using ir::Ints;

// --- reversal --------------------------------------------------------------------------------------------------------

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
