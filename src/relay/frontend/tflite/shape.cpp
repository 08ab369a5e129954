// Operators that make shapes, or put the same elements into another shape. Those on known elements (sizes) are computed
// at import.
#include "relay/frontend/tflite/shape.h"

#include <algorithm>

#include "relay/frontend/common/ops/computed.h"
#include "relay/scalar/simplify.h"

namespace relay::tflite {

using ir::Dim;
using ir::Dims;
using ir::Expr;
using ir::Ints;

Dims shape_of_input(Convert& c, size_t i) {
  const Value& value = c.value(i);
  if (value.expr || !value.known) return c.shape(c.input(i));
  Dims shape;
  for (int64_t extent : value.known->shape) shape.push_back(scalar::imm(extent));
  return shape;
}

Values with_shape(Convert& c, const Dims& to) {
  KnownRef known = c.known(0);
  relay::Shape extents;
  for (const Dim& d : to)
    if (is_int(d)) extents.push_back(d->ivalue);
  if (known && extents.size() == to.size() && element_count(extents) == std::ssize(known->values))
    return {c.known_result(reshaped(*known, extents), [&] { return c.reshape(c.input(0), to); })};
  return {c.reshape(c.input(0), to)};
}

namespace convert {

Values SHAPE(Convert& c) {
  Expr x = c.input(0);
  const std::optional<DType> dtype = c.type_attribute("out_type");
  if (!dtype) return {};
  const DType to = dtype->is_float() ? DType::int32() : *dtype;  // FLOAT32 is number 0, the default
  const Dims& shape = c.shape(x);
  if (std::none_of(shape.begin(), shape.end(), scalar::is_any))
    if (KnownRef known = known_ints(shape))
      if (KnownRef result = frontend::cast(*known, to)) return {result};
  return {c.emit("shape_of", {x}, {{"dtype", to}})};
}

Values RANK(Convert& c) { return {known_scalar(scalar::imm(std::ssize(shape_of_input(c, 0))), DType::int32())}; }

// The new shape is input 1, or an option of old files. -1 takes the remaining elements.
Values RESHAPE(Convert& c) {
  Dims to;
  if (c.has(1)) {
    if (!c.known(1) && c.extent(c.input(1), 0))
      return {computed_reshape(c, c.input(0), c.cast(c.input(1), DType::int64()), true)};
    std::optional<Dims> shape = c.dims(1, "the new shape");
    if (!shape) return {};
    to = *shape;
  } else {
    for (int64_t size : c.ints("new_shape")) to.push_back(scalar::imm(size));
  }
  const Dims from = shape_of_input(c, 0);
  std::optional<size_t> rest;
  Dim total = scalar::imm(1), over = scalar::imm(1);
  for (size_t i = 0; i < to.size(); ++i) {
    if (!is_int(to[i]) || to[i]->ivalue >= 0) {
      over = over * to[i];
    } else if (to[i]->ivalue == -1 && !rest) {
      rest = i;
    } else {
      return c.bad("the new shape has the size {}{}", to[i]->ivalue, rest ? " a second time" : "");
    }
  }
  for (const Dim& d : from) total = total * d;
  if (rest) {
    if (is_int(over, 0)) return c.bad("-1 in the new shape of no elements can be any size");
    if (is_int(total) && is_int(over) && total->ivalue % over->ivalue)
      return c.bad("{} elements do not fit into rows of {}", total->ivalue, over->ivalue);
    to[*rest] = scalar::simplify(scalar::floordiv(total, over));
  }
  return with_shape(c, to);
}

Values SQUEEZE(Convert& c) {
  const Dims from = shape_of_input(c, 0);
  Ints axes = c.ints("squeeze_dims");
  if (axes.empty())
    for (size_t i = 0; i < from.size(); ++i)
      if (is_int(from[i], 1)) axes.push_back(static_cast<int64_t>(i));
  std::optional<Ints> normal = c.axes(axes, std::ssize(from));
  if (!normal) return {};
  Dims to;
  for (size_t i = 0; i < from.size(); ++i) {
    const bool is_named = std::find(normal->begin(), normal->end(), static_cast<int64_t>(i)) != normal->end();
    if (!is_named) to.push_back(from[i]);
    if (is_named && is_int(from[i]) && !is_int(from[i], 1))
      return c.bad("axis {} has {} elements, and only an axis of one can be removed", i, scalar::str(from[i]));
  }
  return with_shape(c, to);
}

Values EXPAND_DIMS(Convert& c) {
  std::optional<Ints> axis = c.places(1, "the axis");
  if (!axis) return {};
  if (axis->size() != 1) return c.bad("the axis is [{}], not one number", join(*axis, ", "));
  Dims to = shape_of_input(c, 0);
  std::optional<int64_t> place = c.axis((*axis)[0], std::ssize(to) + 1);
  if (!place) return {};
  to.insert(to.begin() + *place, scalar::imm(1));
  return with_shape(c, to);
}

Values TRANSPOSE(Convert& c) {
  std::optional<Ints> order = c.places(1, "the order of axes");
  if (!order) return {};
  const int64_t rank = std::ssize(shape_of_input(c, 0));
  if (std::ssize(*order) != rank) return c.bad("the order [{}] is not of {} axes", join(*order, ", "), rank);
  order = c.axes(*order, rank);
  if (!order) return {};
  if (KnownRef known = c.known(0)) return {transposed(*known, *order)};
  return {c.transpose(c.input(0), *order)};
}

// The shape that two shapes broadcast to. Both are lists, of known elements or not.
Values BROADCAST_ARGS(Convert& c) {
  const KnownRef a = c.known(0), b = c.known(1);
  std::optional<Ints> first = a ? as_ints(*a) : std::nullopt, second = b ? as_ints(*b) : std::nullopt;
  if (first && second) {
    if (first->size() < second->size()) std::swap(first, second);
    scalar::Exprs sizes;
    for (int64_t size : *first) sizes.push_back(scalar::imm(size));
    for (size_t i = 0, front = first->size() - second->size(); i < second->size(); ++i) {
      const int64_t x = (*first)[front + i], y = (*second)[i];
      if (x != y && x != 1 && y != 1) return c.bad("sizes {} and {} do not broadcast", x, y);
      if (x == 1) sizes[front + i] = scalar::imm(y);
    }
    if (KnownRef all = known_ints(sizes))
      if (KnownRef result = frontend::cast(*all, a->dtype)) return {result};
  }
  Expr x = c.input(0), y = c.input(1);
  const std::optional<int64_t> n = c.extent(x, 0), m = c.extent(y, 0);
  if (!n || !m) return c.unsized("shapes of unknown length {} and {}", ir::str(x->type), ir::str(y->type));
  const Expr one = c.scalar(1, c.dtype(x));
  x = c.pad(x, {{std::max<int64_t>(*m - *n, 0), 0}}, one, "constant");
  y = c.pad(y, {{std::max<int64_t>(*n - *m, 0), 0}}, one, "constant");
  return {c.emit("where", {c.emit("equal", {x, one}), y, x})};
}

Values BROADCAST_TO(Convert& c) {
  if (!c.known(1) && c.extent(c.input(1), 0)) return {computed_expand(c, c.input(0), c.input(1))};
  std::optional<Dims> to = c.dims(1, "the shape");
  if (!to) return {};
  return {c.broadcast_to(c.input(0), *to)};
}

Values TILE(Convert& c) {
  if (!c.known(1)) return {c.emit("dyn.tile", {c.input(0), c.input(1)})};
  std::optional<Ints> counts = c.places(1, "the multiples");
  if (!counts) return {};
  Expr x = c.input(0);
  if (std::ssize(*counts) != c.rank(x)) return c.bad("multiples [{}] of {}", join(*counts, ", "), ir::str(x->type));
  return {c.emit("tile", {x}, {{"reps", *counts}})};
}

Values FILL(Convert& c) {
  Expr value = c.input(1);
  if (!c.known(0)) return {c.emit("dyn.full", {value, c.input(0)})};
  std::optional<Dims> shape = c.dims(0, "the shape");
  if (!shape) return {};
  relay::Shape extents;
  for (const Dim& d : *shape)
    if (is_int(d)) extents.push_back(d->ivalue);
  const std::optional<int64_t> count = extents.size() == shape->size() ? element_count(extents) : std::nullopt;
  if (KnownRef known = c.known(1); known && count && *count <= max_known)
    return {picked(*known, Ints(static_cast<size_t>(*count), 0), extents)};
  return {c.broadcast_to(value, *shape)};
}

Values RANGE(Convert& c) {
  if (c.is_static(0) && c.is_static(1) && c.is_static(2) && !c.known(0)->dtype.is_float()) {
    const std::optional<Ints> start = c.places(0, "the start"), end = c.places(1, "the end"),
                              step = c.places(2, "the step");
    if (!start || !end || !step) return {};
    if (start->size() != 1 || end->size() != 1 || step->size() != 1 || (*step)[0] == 0)
      return c.bad("a range from [{}] to [{}] in steps of [{}]", join(*start, ", "), join(*end, ", "),
                   join(*step, ", "));
    const int64_t by = (*step)[0], first = (*start)[0],
                  count = std::max<int64_t>(((*end)[0] - first + by - (by > 0 ? 1 : -1)) / by, 0);
    if (!c.may_make(count, c.known(0)->dtype)) return {};
    Tensor values = Tensor::empty({count}, c.known(0)->dtype);
    for (int64_t i = 0; i < count; ++i) values.set_int(i, first + i * by);
    return {c.constant(std::move(values))};
  }
  return {c.emit("arange", {c.input(0), c.input(1), c.input(2)}, {{"dtype", c.dtype(c.input(0))}})};
}

// --- parts -----------------------------------------------------------------------------------------------------------

Values CONCATENATION(Convert& c) {
  const Dims shape = shape_of_input(c, 0);
  std::optional<int64_t> axis = c.axis(c.integer("axis", 0), std::ssize(shape));
  if (!axis) return {};
  std::vector<KnownRef> known;
  for (size_t i = 0; i < c.inputs(); ++i) known.push_back(c.known(i));
  const bool all_known = std::all_of(known.begin(), known.end(), [](const KnownRef& k) { return k != nullptr; });
  if (all_known && shape.size() == 1 && !known[0]->dtype.is_float())
    if (KnownRef result = concat(known)) return {result};
  ir::Exprs parts = c.all_inputs();
  if (c.is_quantized_output()) {
    for (size_t i = 0; i < parts.size(); ++i) parts[i] = rescaled(c, parts[i], c.input_entry(i), c.output_entry(0));
    return {c.concatenate(parts, *axis)};
  }
  return {c.activated(c.concatenate(parts, *axis))};
}

Values PACK(Convert& c) {
  const Dims shape = shape_of_input(c, 0);
  std::optional<int64_t> axis = c.axis(c.integer("axis", 0), std::ssize(shape) + 1);
  if (!axis) return {};
  std::vector<KnownRef> known;
  for (size_t i = 0; i < c.inputs() && shape.empty(); ++i)
    known.push_back(c.known(i) ? reshaped(*c.known(i), {1}) : nullptr);
  const bool all_known = std::all_of(known.begin(), known.end(), [](const KnownRef& k) { return k != nullptr; });
  if (shape.empty() && all_known)
    if (KnownRef result = concat(known)) return {result};
  return {c.emit("stack", {c.tuple(c.all_inputs())}, {{"axis", *axis}})};
}

Values UNPACK(Convert& c) {
  const Dims shape = shape_of_input(c, 0);
  std::optional<int64_t> axis = c.axis(c.integer("axis", 0), std::ssize(shape));
  if (!axis) return {};
  const int64_t count = std::ssize(c.node.outputs);
  if (!is_int(shape[*axis], count))
    return c.bad("axis {} has {} elements, but there are {} outputs", *axis, scalar::str(shape[*axis]), count);
  Values results;
  if (KnownRef known = c.known(0); known && shape.size() == 1) {
    for (int64_t i = 0; i < count; ++i) results.push_back(picked(*known, {i}, {}));
    return results;
  }
  Expr x = c.input(0);
  for (int64_t i = 0; i < count; ++i) results.push_back(c.squeeze(c.slice(x, *axis, i, i + 1), *axis));
  return results;
}

// Parts of these sizes.
static Values split(Convert& c, const Expr& x, int64_t axis, const Ints& sizes) {
  if (sizes.size() == 1) return {x};
  Ints places;
  int64_t end = 0;
  for (int64_t size : sizes) places.push_back(end += size);
  places.pop_back();
  Expr parts = c.emit("split", {x}, {{"indices_or_sections", places}, {"axis", axis}});
  Values results;
  for (size_t i = 0; i < sizes.size(); ++i) results.push_back(c.get(parts, static_cast<int64_t>(i)));
  return results;
}

// Inputs: the axis, the data.
Values SPLIT(Convert& c) {
  std::optional<Ints> given = c.places(0, "the axis");
  Expr x = c.input(1);
  if (!given) return {};
  std::optional<int64_t> axis = given->size() == 1 ? c.axis((*given)[0], c.rank(x)) : std::nullopt;
  if (!axis) return c.bad("the axis is [{}]", join(*given, ", "));
  const int64_t count = std::ssize(c.node.outputs);
  const std::optional<int64_t> extent = c.extent(x, *axis);
  if (!extent) return c.unsupported("axis {} of {} needs a fixed size (--shape)", *axis, ir::str(x->type));
  if (count == 0 || *extent % count) return c.bad("{} elements do not split into {} equal parts", *extent, count);
  return split(c, x, *axis, Ints(static_cast<size_t>(count), *extent / count));
}

// Inputs: the data, the sizes of the parts, of which one may be -1, the axis.
Values SPLIT_V(Convert& c) {
  Expr x = c.input(0);
  std::optional<Ints> sizes = c.places(1, "the sizes"), given = c.places(2, "the axis");
  if (!sizes || !given) return {};
  std::optional<int64_t> axis = given->size() == 1 ? c.axis((*given)[0], c.rank(x)) : std::nullopt;
  if (!axis) return c.bad("the axis is [{}]", join(*given, ", "));
  const std::optional<int64_t> extent = c.extent(x, *axis);
  if (!extent) return c.unsupported("axis {} of {} needs a fixed size (--shape)", *axis, ir::str(x->type));
  int64_t sum = 0;
  for (int64_t size : *sizes) sum += std::max<int64_t>(size, 0);
  for (int64_t& size : *sizes)
    if (size == -1) size = *extent - sum, sum = *extent;
  const bool fits = sum == *extent && std::all_of(sizes->begin(), sizes->end(), [](int64_t s) { return s >= 0; });
  if (!fits || sizes->size() != c.node.outputs.size())
    return c.bad("sizes [{}] of {} elements for {} outputs", join(*sizes, ", "), *extent, c.node.outputs.size());
  return split(c, x, *axis, *sizes);
}

// --- blocks ----------------------------------------------------------------------------------------------------------

static Values blocks(Convert& c, const char* op) {
  return {c.emit(op, {c.input(0)}, {{"block_size", c.integer("block_size", 1)}, {"layout", "NHWC"}})};
}
Values DEPTH_TO_SPACE(Convert& c) { return blocks(c, "nn.depth_to_space"); }
Values SPACE_TO_DEPTH(Convert& c) { return blocks(c, "nn.space_to_depth"); }

// Rows of two numbers, known at import.
static std::optional<ir::IntLists> pairs(Convert& c, size_t i, const char* what) {
  const KnownRef known = c.known(i);
  if (!known) {
    c.ints(i, what);  // reports the reason
    c.fail();
    return std::nullopt;
  }
  const std::optional<Ints> flat = as_ints(*known);
  if (!flat) return c.unsupported("{} depend on the size of an input; give its shape (--shape)", what);
  if (known->shape.size() != 2 || known->shape[1] != 2)
    return c.bad("{} have the shape [{}], not rows of two", what, join(known->shape, ", "));
  ir::IntLists all;
  for (size_t k = 0; k < flat->size(); k += 2) all.push_back({(*flat)[k], (*flat)[k + 1]});
  return all;
}

Values SPACE_TO_BATCH_ND(Convert& c) {
  std::optional<Ints> block = c.places(1, "the block");
  std::optional<ir::IntLists> paddings = pairs(c, 2, "the paddings");
  if (!block || !paddings) return {};
  const double zero = c.is_quantized_input(0) ? static_cast<double>(c.input_entry(0).quantization->zero_points[0]) : 0;
  return {c.emit("nn.space_to_batch_nd", {c.input(0)},
                 {{"block_shape", *block}, {"paddings", *paddings}, {"pad_value", zero}})};
}
Values BATCH_TO_SPACE_ND(Convert& c) {
  std::optional<Ints> block = c.places(1, "the block");
  std::optional<ir::IntLists> crops = pairs(c, 2, "the crops");
  if (!block || !crops) return {};
  return {c.emit("nn.batch_to_space_nd", {c.input(0)}, {{"block_shape", *block}, {"crops", *crops}})};
}

// --- padding ---------------------------------------------------------------------------------------------------------

static Values padded(Convert& c, const Expr& value) {
  Expr x = c.input(0);
  std::optional<ir::IntLists> widths = pairs(c, 1, "the paddings");
  if (!widths) return {};
  if (std::ssize(*widths) != c.rank(x)) return c.bad("{} pairs of paddings for {}", widths->size(), ir::str(x->type));
  return {c.pad(x, *widths, value, "constant")};
}

// Zeros, which are the zero point of quantised data.
Values PAD(Convert& c) {
  const double zero = c.is_quantized_input(0) ? static_cast<double>(c.input_entry(0).quantization->zero_points[0]) : 0;
  return padded(c, c.scalar(zero, c.dtype(c.input(0))));
}
Values PADV2(Convert& c) { return padded(c, c.rank(c.input(2)) > 0 ? c.reshape(c.input(2), {}) : c.input(2)); }

Values MIRROR_PAD(Convert& c) {
  std::optional<ir::IntLists> widths = pairs(c, 1, "the paddings");
  if (!widths) return {};
  return {c.emit("nn.mirror_pad", {c.input(0)},
                 {{"pad_width", *widths}, {"mode", c.integer("mode", 0) == 0 ? "REFLECT" : "SYMMETRIC"}})};
}

}  // namespace convert
}  // namespace relay::tflite
