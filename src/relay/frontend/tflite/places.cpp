// StableHLO's gather and scatter: windows of a tensor, each of which begins at a place that is data.
#include <algorithm>

#include "relay/frontend/tflite/convert.h"

namespace relay::tflite::convert {

using ir::Expr;
using ir::Ints;

namespace {

// Sizes as numbers; unset, reported, if one is unknown.
std::optional<Ints> sizes_of(Convert& c, const Expr& e) {
  Ints sizes;
  for (int64_t axis = 0; axis < c.rank(e); ++axis) {
    const std::optional<int64_t> size = c.extent(e, axis);
    if (!size) return c.unsized("data of unknown size {}", ir::str(e->type));
    sizes.push_back(*size);
  }
  return sizes;
}

bool contains(const Ints& list, int64_t value) { return std::find(list.begin(), list.end(), value) != list.end(); }

// Sorted, different, from 0 below `rank`; unset, reported, otherwise.
std::optional<Ints> axes_of(Convert& c, std::string_view name, int64_t rank) {
  const Ints axes = c.ints(name);
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] < 0 || axes[i] >= rank || (i > 0 && axes[i] <= axes[i - 1]))
      return c.bad("{} are [{}] for {} axes", name, join(axes, ", "), rank);
  return axes;
}

// Elements of windows. Both tensors have the axes of `batch`, then one for each axis of the data, along the window.
struct Elements {
  Ints batch;
  Expr number;     // of an element in the data, row by row, int64
  Expr is_inside;  // bool; null if windows were moved into the data
};

// `map`: the attribute with the axis of the data for each number of a place. Places of windows that do not fit are
// moved if `moves`.
std::optional<Elements> elements(Convert& c, std::string_view map_name, const Ints& shape, const Ints& windows,
                                 bool moves) {
  Expr places = c.cast(c.input(1), DType::int64());
  const int64_t vector_axis = c.integer("index_vector_dim", 0), rank = std::ssize(shape);
  const Ints map = c.ints(map_name);
  if (vector_axis < 0 || vector_axis > c.rank(places))
    return c.bad("index_vector_dim is {} for places of {} axes", vector_axis, c.rank(places));
  if (vector_axis == c.rank(places)) places = c.expand(places, vector_axis);
  std::optional<Ints> sizes = sizes_of(c, places);
  if (!sizes) return std::nullopt;
  if ((*sizes)[static_cast<size_t>(vector_axis)] != std::ssize(map))
    return c.bad("{} are [{}] for places of {} numbers", map_name, join(map, ", "),
                 (*sizes)[static_cast<size_t>(vector_axis)]);
  Elements made;
  for (int64_t i = 0; i < std::ssize(*sizes); ++i)
    if (i != vector_axis) made.batch.push_back((*sizes)[static_cast<size_t>(i)]);
  ir::Dims all;
  for (const Ints& part : {made.batch, windows})
    for (int64_t size : part) all.push_back(scalar::imm(size));
  made.number = c.integer_scalar(0);
  int64_t stride = 1;
  for (int64_t axis = rank - 1; axis >= 0; --axis) {
    const int64_t whole = shape[static_cast<size_t>(axis)], size = windows[static_cast<size_t>(axis)];
    Expr at;
    if (const auto found = std::find(map.begin(), map.end(), axis); found != map.end()) {
      const int64_t place = found - map.begin();
      at = c.squeeze(c.slice(places, vector_axis, place, place + 1), vector_axis);
      if (moves) at = c.emit("minimum", {c.emit("maximum", {at, c.integer_scalar(0)}), c.integer_scalar(whole - size)});
      for (int64_t i = 0; i < rank; ++i) at = c.expand(at, c.rank(at));
    }
    if (size > 1) {
      if (!c.may_make(size, DType::int64())) return std::nullopt;
      Ints steps(static_cast<size_t>(size)), form(all.size(), 1);
      for (int64_t i = 0; i < size; ++i) steps[static_cast<size_t>(i)] = i;
      form[made.batch.size() + static_cast<size_t>(axis)] = size;
      const Expr step = c.constant(Tensor::from_ints(form, DType::int64(), steps));
      at = at ? c.add(at, step) : step;
    }
    if (at && !moves) {
      const Expr fits = c.emit("logical_and", {c.emit("greater_equal", {at, c.integer_scalar(0)}),
                                               c.emit("less", {at, c.integer_scalar(whole)})});
      made.is_inside = made.is_inside ? c.emit("logical_and", {made.is_inside, fits}) : fits;
    }
    if (at) made.number = c.add(made.number, c.emit("multiply", {at, c.integer_scalar(stride)}));
    stride *= whole;
  }
  made.number = c.broadcast_to(made.number, all);
  if (made.is_inside) made.is_inside = c.broadcast_to(made.is_inside, all);
  return made.number ? std::optional(made) : std::nullopt;
}

bool windows_fit(Convert& c, const Ints& windows, const Ints& shape) {
  bool fits = windows.size() == shape.size();
  for (size_t i = 0; fits && i < shape.size(); ++i) fits = windows[i] >= 0 && windows[i] <= shape[i];
  if (!fits) c.bad("windows of [{}] in data of [{}]", join(windows, ", "), join(shape, ", "));
  return fits;
}

Expr reshaped(Convert& c, const Expr& e, const Ints& sizes) {
  ir::Dims shape;
  for (int64_t size : sizes) shape.push_back(scalar::imm(size));
  return c.reshape(e, shape);
}

int64_t count_of(const Ints& sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return count;
}

}  // namespace

// Inputs: the data, the places. Windows that would not fit begin earlier.
Values STABLEHLO_GATHER(Convert& c) {
  const Expr x = c.input(0);
  std::optional<Ints> shape = sizes_of(c, x);
  const Ints windows = c.ints("slice_sizes");
  if (!shape || !windows_fit(c, windows, *shape)) return {};
  const std::optional<Ints> dropped = axes_of(c, "collapsed_slice_dims", c.rank(x));
  if (!dropped) return {};
  for (int64_t axis : *dropped)
    if (windows[static_cast<size_t>(axis)] != 1)
      return c.bad("axis {} is collapsed, but its slices are {}", axis, windows[static_cast<size_t>(axis)]);
  std::optional<Elements> found = elements(c, "start_index_map", *shape, windows, true);
  if (!found) return {};
  Ints sizes = found->batch;
  for (size_t axis = 0; axis < windows.size(); ++axis)
    if (!contains(*dropped, static_cast<int64_t>(axis))) sizes.push_back(windows[axis]);
  const int64_t rank = std::ssize(sizes), batch = std::ssize(found->batch);
  const std::optional<Ints> offsets = axes_of(c, "offset_dims", rank);
  if (!offsets) return {};
  if (std::ssize(*offsets) != rank - batch) return c.bad("{} offset_dims for {} axes", offsets->size(), rank - batch);
  const Expr flat = reshaped(c, x, {count_of(*shape)});
  const Expr taken = c.emit("take", {flat, found->number}, {{"axis", int64_t{0}}, {"mode", "clip"}});
  Ints order;
  for (int64_t i = 0, next_batch = 0, next_window = batch; i < rank; ++i)
    order.push_back(contains(*offsets, i) ? next_window++ : next_batch++);
  return {c.transpose(reshaped(c, taken, sizes), order)};
}

// The mode of scatter_nd for the function of the node; empty, reported, if there is none.
static std::string mode_of(Convert& c) {
  const int64_t index = c.integer("update_computation_subgraph_index", -1);
  const std::vector<Subgraph>& graphs = c.model().subgraphs;
  if (index < 0 || index >= std::ssize(graphs)) {
    c.bad("update_computation_subgraph_index is {} of {}", index, graphs.size());
    return "";
  }
  const Subgraph& graph = graphs[static_cast<size_t>(index)];
  if (graph.nodes.empty() && graph.inputs.size() == 2 && graph.outputs == std::vector{graph.inputs[1]}) return "update";
  static const std::map<std::string, const char*> modes = {{"STABLEHLO_ADD", "add"},
                                                           {"STABLEHLO_MULTIPLY", "mul"},
                                                           {"STABLEHLO_MINIMUM", "min"},
                                                           {"STABLEHLO_MAXIMUM", "max"}};
  auto found = graph.nodes.size() == 1 ? modes.find(graph.nodes[0].op()) : modes.end();
  if (found != modes.end()) return found->second;
  c.unsupported("a function that is neither an update nor a sum, product, minimum or maximum");
  return "";
}

// Inputs: the data, the places, the updates. Elements outside of the data are left out.
Values STABLEHLO_SCATTER(Convert& c) {
  const Expr x = c.input(0);
  Expr updates = c.input(2);
  std::optional<Ints> shape = sizes_of(c, x), sizes = sizes_of(c, updates);
  const std::string mode = mode_of(c);
  if (!shape || !sizes || mode.empty()) return {};
  const std::optional<Ints> inserted = axes_of(c, "inserted_window_dims", c.rank(x));
  const std::optional<Ints> window_axes = axes_of(c, "update_window_dims", c.rank(updates));
  if (!inserted || !window_axes) return {};
  if (window_axes->size() + inserted->size() != shape->size())
    return c.bad("{} update_window_dims and {} inserted_window_dims for {} axes", window_axes->size(), inserted->size(),
                 shape->size());
  Ints windows(shape->size(), 1), order;
  for (size_t axis = 0, next = 0; axis < shape->size(); ++axis)
    if (!contains(*inserted, static_cast<int64_t>(axis)))
      windows[axis] = (*sizes)[static_cast<size_t>((*window_axes)[next++])];
  if (!windows_fit(c, windows, *shape)) return {};
  std::optional<Elements> found = elements(c, "scatter_dims_to_operand_dims", *shape, windows, false);
  if (!found) return {};
  Ints batch;
  for (int64_t axis = 0; axis < c.rank(updates); ++axis)
    if (!contains(*window_axes, axis)) order.push_back(axis), batch.push_back((*sizes)[static_cast<size_t>(axis)]);
  if (batch != found->batch)
    return c.bad("updates of [{}] for places of [{}]", join(*sizes, ", "), join(found->batch, ", "));
  order.insert(order.end(), window_axes->begin(), window_axes->end());
  const int64_t count = count_of(*shape), changes = count_of(*sizes);
  updates = reshaped(c, c.transpose(updates, order), {changes});
  Expr number = found->number;
  if (found->is_inside) number = c.emit("where", {found->is_inside, number, c.integer_scalar(count)});
  number = reshaped(c, number, {1, changes});
  // Updates outside of the data go to an element behind it.
  const Expr room = c.constant(Tensor::full({1}, c.dtype(x), 0));
  const Expr flat = c.concatenate({reshaped(c, x, {count}), room}, 0);
  const Expr made = c.emit("scatter_nd", {flat, number, updates}, {{"mode", mode}});
  return {reshaped(c, c.slice(made, 0, 0, count), *shape)};
}

}  // namespace relay::tflite::convert
