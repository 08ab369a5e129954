// Operators that make shapes or change them. Those on known elements (sizes) are computed at import.
#include <algorithm>

#include "relay/frontend/onnx/computed.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::convert {

using ir::Dim;
using ir::Dims;
using ir::Expr;
using ir::Ints;

// --- sizes -----------------------------------------------------------------------------------------------------------

static bool has_unknown(const Dims& shape) {
  return std::any_of(shape.begin(), shape.end(), [](const Dim& d) { return is_any(d); });
}

// Since opset 15 only the axes from `start` to before `end`.
Values Shape(Convert& c) {
  Expr x = c.input(0);
  int64_t rank = c.rank(x);
  auto bound = [&](const char* name, int64_t otherwise) {
    int64_t i = c.integer(name, otherwise);
    return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank);
  };
  int64_t start = bound("start", 0), end = bound("end", rank);
  Dims shape = c.shape(x);
  Dims part(shape.begin() + start, shape.begin() + std::max(start, end));
  if (!has_unknown(part))
    if (KnownRef known = known_ints(part)) return {known};
  Expr all = c.emit("shape_of", {x}, {{"dtype", DType::int64()}});
  if (start == 0 && end == rank) return {all};
  return {
      c.emit("strided_slice", {all},
             {{"begin", Ints{start}}, {"end", Ints{std::max(start, end)}}, {"strides", Ints{1}}, {"axes", Ints{0}}})};
}

Values Size(Convert& c) {
  Expr x = c.input(0);
  if (KnownRef shape = has_unknown(c.shape(x)) ? nullptr : known_ints(c.shape(x)))
    if (KnownRef count = product(*shape)) return {count};
  return {c.emit("ndarray_size", {x}, {{"dtype", DType::int64()}})};
}

// --- the same elements in another shape ------------------------------------------------------------------------------

// A known value in the shape of its converted form, if that consists of numbers.
static KnownRef known_in(Convert& c, const Dims& shape) {
  KnownRef known = c.known(0);
  if (!known) return nullptr;
  relay::Shape extents;
  for (const Dim& d : shape) {
    if (!is_int(d)) return nullptr;
    extents.push_back(d->ivalue);
  }
  return reshaped(*known, extents);
}

// Known values stay known; others go through `op`.
template <class F>
static Values reshaped_value(Convert& c, const Dims& shape, F otherwise) {
  if (KnownRef known = known_in(c, shape)) return {known};
  return {otherwise()};
}

// The shape of the first input, whether it is an expression or known elements.
static Dims shape_of_input(Convert& c) {
  if (!c.value(0).known) return c.shape(c.input(0));
  Dims shape;
  for (int64_t extent : c.value(0).known->shape) shape.push_back(scalar::imm(extent));
  return shape;
}

// 0 keeps an axis (unless allowzero), -1 takes the remaining elements. Before opset 5 the shape is an attribute.
Values Reshape(Convert& c) {
  Dims from = shape_of_input(c), to;
  if (c.opset < 5 && c.has_attribute("shape")) {
    for (int64_t d : c.ints("shape")) to.push_back(scalar::imm(d));
  } else {
    if (!c.has(1)) return c.bad("the new shape is missing");
    if (!c.known(1) && c.extent(c.input(1), 0))
      return {computed_reshape(c, c.input(0), c.input(1), c.integer("allowzero", 0) != 0)};
    std::optional<Dims> shape = c.dims(1, "the new shape");
    if (!shape) return {};
    to = *shape;
  }
  bool allowzero = c.integer("allowzero", 0) != 0;
  Ints codes;  // equivalent codes of Relay's reshape
  for (const Dim& d : to)
    if (is_int(d) && !(allowzero && is_int(d, 0))) codes.push_back(d->ivalue);
  if (codes.size() != to.size()) codes.clear();
  Dims left = from;  // without the axes that keep their place
  std::vector<bool> is_kept(to.size());
  std::optional<size_t> rest;
  for (size_t i = 0; i < to.size(); ++i) {
    if (is_int(to[i], 0) && !allowzero) {
      if (i >= from.size())
        return c.bad("axis {} of the new shape is 0 (as before), but the data has {} axes", i, from.size());
      to[i] = from[i], left[i] = scalar::imm(1), is_kept[i] = true;
    } else if (is_int(to[i]) && to[i]->ivalue < 0) {
      if (to[i]->ivalue != -1 || rest)
        return c.bad("the new shape has the dimension {}{}", to[i]->ivalue, rest ? " twice" : "");
      rest = i;
    }
  }
  if (rest) {
    // The size that the other axes leave; factors that occur on both sides cancel.
    Dim over = scalar::imm(1);
    for (size_t i = 0; i < to.size(); ++i) {
      if (i == *rest || (is_kept[i] && !is_int(to[i], 0))) continue;
      auto same = std::find_if(left.begin(), left.end(), [&](const Dim& d) { return !is_any(d) && equal(d, to[i]); });
      if (same != left.end() && !is_int(to[i], 0))
        left.erase(same);
      else
        over = over * to[i];
    }
    Dim total = scalar::imm(1);
    for (const Dim& d : left) total = total * d;
    if (is_int(over, 0)) return c.bad("-1 in the new shape of an empty tensor is ambiguous");
    if (is_int(total) && is_int(over) && total->ivalue % over->ivalue != 0)
      return c.bad("{} elements do not fit into shape [{}]", total->ivalue, [&] {
        std::string text;
        for (const Dim& d : to) text += (text.empty() ? "" : ", ") + scalar::str(d);
        return text;
      }());
    to[*rest] = scalar::simplify(scalar::floordiv(total, over));
  }
  return reshaped_value(c, to, [&] { return c.reshape(c.input(0), to, codes); });
}

Values Flatten(Convert& c) {
  Expr x = c.input(0);
  int64_t rank = c.rank(x), axis = c.integer("axis", 1);
  if (axis < -rank || axis > rank) return c.bad("axis {} is out of range for {}", axis, ir::str(x->type));
  if (axis < 0) axis += rank;
  if (axis == 1 && rank > 2) return {c.emit("nn.batch_flatten", {x})};
  Dim rows = scalar::imm(1), columns = scalar::imm(1);
  for (int64_t i = 0; i < rank; ++i) (i < axis ? rows : columns) = (i < axis ? rows : columns) * c.shape(x)[i];
  return {c.reshape(x, {scalar::simplify(rows), scalar::simplify(columns)})};
}

Values Squeeze(Convert& c) {
  Dims from = shape_of_input(c), to;
  int64_t rank = static_cast<int64_t>(from.size());
  if (!c.has_attribute("axes") && c.has(1) && !c.known(1)) return {c.emit("dyn.squeeze", {c.input(0), c.input(1)})};
  std::optional<Ints> given = c.ints_attribute_or_input("axes", 1);
  if (c.failed()) return {};
  Ints all;
  for (int64_t i = 0; i < rank; ++i)
    if (const Dim size = c.agreed(from[i]); is_int(size, 1) || (c.squeezes_names() && !is_int(size) && !is_any(size)))
      all.push_back(i);
  std::optional<Ints> axes = given ? c.axes(*given, rank) : std::optional(all);
  if (!axes) return {};
  std::sort(axes->begin(), axes->end());
  for (int64_t i = 0; i < rank; ++i)
    if (!std::binary_search(axes->begin(), axes->end(), i)) to.push_back(from[i]);
  return reshaped_value(c, to, [&] {
    Expr x = c.input(0);
    // Without axes, one of any size stays, and must not be 1.
    for (int64_t i = 0; i < rank && !given; ++i)
      if (!is_int(c.agreed(from[i])) && !std::binary_search(axes->begin(), axes->end(), i))
        x = c.emit("annotation.bounded", {x}, {{"axis", i}, {"least", int64_t{2}}});
    return axes->empty() ? x : c.emit("squeeze", {x}, {{"axis", *axes}});
  });
}

Values Unsqueeze(Convert& c) {
  Dims to = shape_of_input(c);
  if (!c.has_attribute("axes") && c.has(1) && !c.known(1))
    return computed_unsqueeze(c, c.input(0), c.cast(c.input(1), DType::int64()));
  std::optional<Ints> given = c.ints_attribute_or_input("axes", 1);
  if (c.failed()) return {};
  if (!given) return c.bad("axes is missing");
  std::optional<Ints> axes = c.axes(*given, static_cast<int64_t>(to.size() + given->size()));
  if (!axes) return {};
  std::sort(axes->begin(), axes->end());
  for (int64_t axis : *axes) to.insert(to.begin() + axis, scalar::imm(1));
  if (to.size() > max_rank)
    return c.over_limit("the result has {} axes, more than the limit of {}", to.size(), max_rank);
  return reshaped_value(c, to, [&] {
    Expr x = c.input(0);
    for (int64_t axis : *axes) x = c.emit("expand_dims", {x}, {{"axis", axis}, {"num_newaxis", int64_t{1}}});
    return x;
  });
}

Values Transpose(Convert& c) {
  const KnownRef known = c.known(0);
  Expr x = known ? nullptr : c.input(0);
  const int64_t rank = known ? static_cast<int64_t>(known->shape.size()) : c.rank(x);
  Ints reversed;
  for (int64_t i = rank; i-- > 0;) reversed.push_back(i);
  const Ints perm = c.ints("perm", reversed);
  Ints sorted = perm;  // axes are not counted from the end here
  std::sort(sorted.rbegin(), sorted.rend());
  if (sorted != reversed) return c.bad("perm [{}] is not a permutation of {} axes", join(perm, ", "), rank);
  if (known) return {transposed(*known, perm)};
  return {c.transpose(x, perm)};
}

// --- more elements ---------------------------------------------------------------------------------------------------

Values Expand(Convert& c) {
  if (!c.known(1) && c.extent(c.input(1), 0)) return {computed_expand(c, c.input(0), c.input(1))};
  std::optional<Dims> wanted = c.dims(1, "the shape");
  if (!wanted) return {};
  Dims from = shape_of_input(c), to = *wanted;
  size_t rank = std::max(from.size(), to.size());
  if (rank > max_rank) return c.over_limit("the result has {} axes, more than the limit of {}", rank, max_rank);
  from.insert(from.begin(), rank - from.size(), scalar::imm(1));
  to.insert(to.begin(), rank - to.size(), scalar::imm(1));
  for (size_t i = 0; i < rank; ++i) {
    if (is_int(to[i]) && to[i]->ivalue < 0) return c.bad("the shape has the dimension {}", to[i]->ivalue);
    if (is_int(to[i], 1)) to[i] = from[i];
  }
  if (KnownRef known = c.known(0); known && !known->dtype.is_bool()) {
    // Adds zeros, which broadcasts.
    relay::Shape extents;
    for (const Dim& d : to)
      if (is_int(d)) extents.push_back(d->ivalue);
    if (std::optional<int64_t> count = element_count(extents); extents.size() == rank && count && *count <= max_known) {
      KnownRef zeros = known_of(Tensor::full(extents, known->dtype, 0));
      if (KnownRef result = zeros ? binary(scalar::BinaryOp::Add, *known, *zeros) : nullptr) return {result};
    }
  }
  return {c.broadcast_to(c.input(0), to)};
}

Values Tile(Convert& c) {
  Expr x = c.input(0);
  if (c.opset < 6) return c.unsupported("Tile of opset {}; export the model with opset 6 or later", c.opset);
  if (!c.known(1) && c.extent(c.input(1), 0) == c.rank(x)) {
    const Expr reps = c.input(1), negative = c.emit("less", {reps, c.scalar(0, c.dtype(reps))});
    return {c.emit("dyn.tile", {x, refused_where(c, reps, negative, "a value in repeats is negative",
                                                 "give a non-negative number of repetitions for each axis")})};
  }
  std::optional<Dims> reps = c.dims(1, "repeats");
  if (!reps) return {};
  const Dims shape = shape_of_input(c);
  if (reps->size() != shape.size())
    return c.bad("repeats has {} values, but the data is {}", reps->size(), ir::str(x->type));
  if (std::all_of(reps->begin(), reps->end(), [](const Dim& r) { return is_int(r, 1); })) return {x};
  if (std::all_of(reps->begin(), reps->end(), [](const Dim& r) { return is_int(r); })) {
    Ints counts;
    for (const Dim& r : *reps) counts.push_back(r->ivalue);
    return {c.emit("tile", {x}, {{"reps", counts}})};
  }
  // Sizes of inputs among them: an axis in front of each one is broadcast.
  Dims with_unit_axes, broadcast, tiled;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!is_int((*reps)[d], 1)) with_unit_axes.push_back(scalar::imm(1)), broadcast.push_back((*reps)[d]);
    with_unit_axes.push_back(shape[d]), broadcast.push_back(shape[d]);
    tiled.push_back(scalar::simplify((*reps)[d] * shape[d]));
  }
  return {c.reshape(c.broadcast_to(c.reshape(x, with_unit_axes), broadcast), tiled)};
}

Values Concat(Convert& c) {
  std::vector<KnownRef> parts;
  for (size_t i = 0; i < c.inputs(); ++i) parts.push_back(c.known(i));
  if (c.integer("axis", 1) == 0 || c.integer("axis", 1) == -1)
    if (std::all_of(parts.begin(), parts.end(), [](const KnownRef& k) { return k != nullptr; }))
      if (KnownRef result = concat(parts)) return {result};
  ir::Exprs all = c.all_inputs();
  if (c.failed()) return {};
  std::optional<int64_t> axis = c.axis(c.integer("axis", 1), c.rank(all[0]));
  if (!axis) return {};
  if (all.size() == 1) return {all[0]};
  return {c.emit("concatenate", {c.tuple(all)}, {{"axis", *axis}})};
}

// Equal parts of an axis of any size, with a smaller last one if it does not divide.
static Values split_unevenly(Convert& c, const Expr& x, int64_t axis, int64_t parts) {
  const Dim& extent = c.shape(x)[static_cast<size_t>(axis)];
  if (is_any(extent)) {
    const Expr count = c.integer_scalar(parts), whole = c.size_of(x, axis);
    const Expr size = c.emit("floor_divide", {c.add(whole, static_cast<double>(parts - 1)), count});
    ir::Exprs sizes(static_cast<size_t>(parts), c.expand(size, 0));
    sizes.back() = c.expand(c.subtract(whole, c.multiply(size, c.integer_scalar(parts - 1))), 0);
    return computed_split(c, x, c.concatenate(sizes, 0), axis);
  }
  const Dim size = scalar::simplify(floordiv(extent + (parts - 1), scalar::imm(parts)));
  Values results;
  for (int64_t i = 0; i < parts; ++i) {
    const Dim begin = scalar::simplify(size * i);
    results.push_back(Value(slice_of_size(c, x, axis, begin, i + 1 < parts ? size : scalar::simplify(extent - begin))));
  }
  return results;
}

// A part for each output: of specified sizes (an attribute before opset 13, an input since then) or equal ones.
Values Split(Convert& c) {
  if (c.node.outputs.empty()) return c.bad("it has no outputs");
  Dims shape = shape_of_input(c);
  std::optional<int64_t> axis = c.axis(c.integer("axis", 0), static_cast<int64_t>(shape.size()));
  if (axis && !c.has_attribute("split") && c.has(1) && !c.is_static(1))
    return computed_split(c, c.input(0), c.cast(c.input(1), DType::int64()), *axis);
  std::optional<Ints> given = c.ints_attribute_or_input("split", 1);
  if (!axis || c.failed()) return {};
  int64_t parts = static_cast<int64_t>(c.node.outputs.size());
  if (given && static_cast<int64_t>(given->size()) != parts)
    return c.bad("split is [{}], but there are {} outputs", join(*given, ", "), parts);
  const Dim& extent = shape[*axis];
  if (is_int(extent) && !given) {
    // Equal parts; the last is smaller if the axis does not divide (since opset 18).
    int64_t size = (extent->ivalue + parts - 1) / parts;
    if (extent->ivalue % parts && c.opset < 18)
      return c.bad("axis {} of {} elements does not split into {} equal parts", *axis, extent->ivalue, parts);
    given = Ints(static_cast<size_t>(parts), size);
    given->back() = extent->ivalue - size * (parts - 1);
    if (given->back() < 0)
      return c.bad("axis {} of {} elements does not split into {} parts", *axis, extent->ivalue, parts);
  }
  if (parts == 1 && (!given || is_int(extent))) return {c.value(0)};
  Ints places;
  int64_t end = 0;
  if (given) {
    for (int64_t size : *given) {
      if (size < 0 || __builtin_add_overflow(end, size, &end)) return c.bad("split is [{}]", join(*given, ", "));
      places.push_back(end);
    }
    places.pop_back();
    if (is_int(extent) && end != extent->ivalue)
      return c.bad("split is [{}], but axis {} has {} elements", join(*given, ", "), *axis, extent->ivalue);
  }
  const bool uneven =
      !given && c.opset >= 18 && scalar::prove_equal(floormod(extent, scalar::imm(parts)), scalar::imm(0)) != true;
  if (uneven) return split_unevenly(c, c.input(0), *axis, parts);
  Values results;
  if (KnownRef known = c.known(0); known && given && known->shape.size() == 1) {
    int64_t begin = 0;
    for (int64_t size : *given) {
      Ints indices;
      for (int64_t i = 0; i < size; ++i) indices.push_back(begin + i);
      results.push_back(Value(picked(*known, indices, {size})));
      begin += size;
    }
    return results;
  }
  bool equal_parts =
      !given || std::all_of(given->begin(), given->end(), [&](int64_t s) { return s == given->front(); });
  const Expr x = given ? c.with_extent(c.input(0), *axis, end) : c.input(0);
  Expr split =
      c.emit("split", {x},
             {{"indices_or_sections", equal_parts ? ir::AttrValue(parts) : ir::AttrValue(places)}, {"axis", *axis}});
  for (int64_t i = 0; split && i < parts; ++i) results.push_back(Value(c.get(split, i)));
  return results;
}

// --- constants -------------------------------------------------------------------------------------------------------

Values Constant(Convert& c) {
  for (const Attribute& a : c.node.attributes) {
    if (a.name == "value" && std::holds_alternative<std::shared_ptr<const TensorData>>(a.value)) {
      const TensorData& data = *std::get<std::shared_ptr<const TensorData>>(a.value);
      Value value(c.constant(c.tensor(data)));
      if (!element_dtype(data.type)) value.carried = data.type;
      return {value};
    }
    if (const auto* sparse = std::get_if<std::shared_ptr<const SparseData>>(&a.value);
        sparse && a.name == "sparse_value")
      return {c.constant(c.tensor(**sparse))};
    if (a.name == "value_float") return {c.scalar(c.real(a.name, 0), DType::float32())};
    if (a.name == "value_int") return {known_scalar(scalar::imm(c.integer(a.name, 0)), DType::int64())};
    if (a.name == "value_ints") {
      Ints values = c.ints(a.name);
      return {c.constant(Tensor::from_ints({static_cast<int64_t>(values.size())}, DType::int64(), values))};
    }
    if (a.name == "value_floats")
      if (const std::vector<float>* values = std::get_if<std::vector<float>>(&a.value)) {
        Tensor tensor = Tensor::empty({static_cast<int64_t>(values->size())}, DType::float32());
        std::copy(values->begin(), values->end(), static_cast<float*>(tensor.mutable_data()));
        return {c.constant(std::move(tensor))};
      }
    if (a.name == "value_string") return {c.strings(c.integer_scalar(c.code(c.text(a.name, ""))))};
    if (const auto* strings = std::get_if<std::vector<std::string_view>>(&a.value);
        strings && a.name == "value_strings")
      return {c.strings(c.constant(c.codes(*strings)))};
    return c.unsupported("its value is given as {} (a {})", a.name, kind_name(a.value));
  }
  return c.bad("it has no value");
}

Values ConstantOfShape(Convert& c) {
  const bool computed = !c.known(0) && c.extent(c.input(0), 0).has_value();
  std::optional<Dims> shape = computed ? std::optional(Dims()) : c.dims(0, "the shape");
  if (!shape) return {};
  Tensor value = Tensor::scalar(0, DType::float32());
  if (const Attribute* a = c.node.find("value")) {
    const std::shared_ptr<const TensorData>* data = std::get_if<std::shared_ptr<const TensorData>>(&a->value);
    if (!data) return c.bad("attribute value should be a tensor");
    value = c.tensor(**data);
    if (!value) return {};
    if (value.elements() != 1) return c.bad("attribute value has {} elements instead of one", value.elements());
  }
  if (computed) return {c.emit("dyn.full", {c.constant(value.reshaped({})), c.input(0)})};
  relay::Shape extents;
  for (const Dim& d : *shape) {
    if (is_int(d) && d->ivalue < 0) return c.bad("the shape has the dimension {}", d->ivalue);
    if (is_int(d)) extents.push_back(d->ivalue);
  }
  std::optional<int64_t> count = element_count(extents);
  if (shape->size() > max_rank)
    return c.over_limit("the result has {} axes, more than the limit of {}", shape->size(), max_rank);
  if (!count) return c.bad("the shape is too large");
  if (extents.size() == shape->size() && *count <= max_known) {
    Tensor full = Tensor::empty(extents, value.dtype());
    for (int64_t i = 0; i < *count; ++i)
      value.dtype().is_float() ? full.set(i, value.at(0)) : full.set_int(i, value.int_at(0));
    return {c.constant(std::move(full))};
  }
  return {c.broadcast_to(c.constant(value.reshaped({})), *shape)};
}

// --- padding ---------------------------------------------------------------------------------------------------------

// Amounts are an attribute before opset 11 and an input since then, for the named axes since 18. A negative amount
// crops.
Values Pad(Convert& c) {
  Expr x = c.input(0);
  int64_t rank = c.rank(x);
  const std::string mode = c.text("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap")
    return c.bad("mode is '{}', not constant, edge, reflect or wrap", mode);
  const bool strings = c.value(0).carried != 0;  // padded with empty ones
  Expr value = c.has(2)  ? c.input(2)
               : strings ? c.integer_scalar(c.code(""))
                         : c.scalar(c.real("value", 0), c.dtype(x));
  if (c.rank(value) > 0) value = c.reshape(value, {});
  const bool computed = (c.has(1) && !c.is_static(1)) || (c.has(3) && !c.is_static(3));
  if (c.opset >= 11 && (computed || mode == "wrap")) {
    auto list = [&](size_t i) { return c.has(i) ? c.cast(c.input(i), DType::int64()) : Expr(); };
    return computed_pad(c, x, list(1), list(3), value, mode);
  }
  std::optional<Ints> pads = c.ints_attribute_or_input(c.opset < 2 ? "paddings" : "pads", 1);
  if (c.failed()) return {};
  if (!pads) return c.bad("pads is missing");
  std::optional<Ints> axes = Ints();
  for (int64_t i = 0; i < rank; ++i) axes->push_back(i);
  if (c.has(3)) {
    std::optional<Ints> named = c.ints(3, "axes");
    axes = named ? c.axes(*named, rank) : std::nullopt;
  }
  if (!axes) return {};
  size_t n = axes->size();
  if (pads->size() != 2 * n)
    return c.bad("pads is [{}], but {} are padded", join(*pads, ", "), plural(static_cast<int64_t>(n), "axis", "axes"));
  ir::IntLists width(static_cast<size_t>(rank), Ints{0, 0});
  for (size_t i = 0; i < n; ++i)
    for (size_t side = 0; side < 2; ++side) {
      int64_t amount = (*pads)[i + side * n];
      if (amount < -INT32_MAX || amount > INT32_MAX) return c.bad("pads is [{}]", join(*pads, ", "));
      width[static_cast<size_t>((*axes)[i])][side] = amount;
    }
  if (std::all_of(pads->begin(), pads->end(), [](int64_t amount) { return amount == 0; })) return {x};
  return {c.pad(x, std::move(width), value, mode)};
}

}  // namespace relay::onnx::convert
